"""The verb of warm-ups: what several runs of a study share (planning/warm_ups.py)."""

from __future__ import annotations

import argparse
import os

from shiftbench.names import refuse_unknown
from shiftbench.verbs import devices
from shiftbench.verbs.jobs import now, refuse_other_instructions, sealed, write_cost


@sealed(reads=("store",), makes=("output",))
def warm_up(options: argparse.Namespace) -> None:
    """Learns from the data before a stream, once for all runs that learn alike."""
    from shiftbench.planning import config, specs

    plan = config.load(options.config)
    refuse_unknown("study", options.study, plan.studies)
    refuse_unknown("stream", options.stream, plan.studies[options.study].streams)
    spec = specs.warm_up(plan, options.study, options.stream, options.name, options.seeds)
    specs.refuse_other(spec, options.digest)
    refuse_other_instructions(spec["instructions"])
    devices.take(spec)
    os.environ["SHIFTBENCH_THREADS"] = str(options.threads)

    from threadpoolctl import threadpool_limits

    from shiftbench.running import warm_up
    from shiftbench.store import zarr_zip

    started = now()
    with threadpool_limits(options.threads):
        made, cost = warm_up.run_job(spec, zarr_zip.read_any(options.store))
    write_cost(options.cost, cost, started)
    zarr_zip.write(made, options.output)

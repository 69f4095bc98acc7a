"""The verb of warm-ups: what several runs of a study share (config/warm_ups.py)."""

from __future__ import annotations

import argparse
import os

from shiftbench.cli import device_choice
from shiftbench.cli.jobs import now, refuse_other_instructions, sealed, write_cost
from shiftbench.core.suggestions import refuse_unknown


@sealed(reads=("store",), makes=("output",))
def warm_up(options: argparse.Namespace) -> None:
    """Learns from the data before a stream, once for all runs that learn alike."""
    from shiftbench.config import config_file, specs

    plan = config_file.load(options.config)
    refuse_unknown("study", options.study, plan.studies)
    refuse_unknown("stream", options.stream, plan.studies[options.study].streams)
    spec = specs.warm_up(plan, options.study, options.stream, options.name, options.seeds)
    specs.refuse_other(spec, options.digest)
    refuse_other_instructions(spec["instructions"])
    device_choice.take(spec)
    os.environ["SHIFTBENCH_THREADS"] = str(options.threads)

    from threadpoolctl import threadpool_limits

    from shiftbench.data.store import zarr_zip
    from shiftbench.evaluation.running import warm_up

    started = now()
    with threadpool_limits(options.threads):
        made, cost = warm_up.run_job(spec, zarr_zip.read_any(options.store))
    write_cost(options.cost, cost, started)
    zarr_zip.write(made, options.output)

"""The verb of warm-ups: what several runs of a study share (planning/warm_ups.py)."""

from __future__ import annotations

import argparse
import json
import os

from shiftbench.names import refuse_unknown
from shiftbench.store import text_files
from shiftbench.verbs.jobs import refuse_other_instructions, sealed


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
    os.environ["SHIFTBENCH_THREADS"] = str(options.threads)

    from threadpoolctl import threadpool_limits

    from shiftbench.running import warm_up
    from shiftbench.store import zarr_zip

    with threadpool_limits(options.threads):
        made, cost = warm_up.run_job(spec, zarr_zip.read_any(options.store))
    text_files.write(options.cost, json.dumps(cost, indent=1, sort_keys=True) + "\n")
    zarr_zip.write(made, options.output)

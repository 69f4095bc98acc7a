"""Jobs that learn: runs, and the warm-ups that several runs share (config/warm_ups.py)."""

from __future__ import annotations

import argparse
import json
import logging
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shiftbench.cli import device_choice, method_bounds
from shiftbench.config.spec_files import Spec
from shiftbench.core import atomic_files, devices, exit_statuses, instructions
from shiftbench.core.errors import UserError
from shiftbench.data.store import checksum, completed_outputs, leftovers
from shiftbench.runtime import scratch_lock

log = logging.getLogger("shiftbench")


def run(spec: Spec, options: argparse.Namespace) -> int:
    """Run a method on a stream for a block of seeds; go on from a saved state."""
    try:
        return _run(spec, options)
    except scratch_lock.Busy as error:
        log.error("%s", error)
        return exit_statuses.STOPPED  # a cluster may try it again


def _run(spec: Spec, options: argparse.Namespace) -> int:
    checksum.refuse_broken(*options.input)
    _refuse_other_instructions(spec["instructions"])
    device_choice.take(spec)
    for path in _choices(options):
        from shiftbench.config import specs

        spec = specs.with_choice(spec, atomic_files.read_json(path)["settings"])
    scratch = options.scratch / spec["digest"]
    with scratch_lock.locked(scratch):
        leftovers.remove(options.output)
        if completed_outputs.restore(spec["digest"], *options.output):
            log.info("%s: an earlier attempt has finished it", options.output[0])
        elif status := _learn(spec, options, scratch):
            return status
        else:
            completed_outputs.keep(spec["digest"], *options.output)
        if scratch.exists():
            from shiftbench.data.store import checkpoint

            checkpoint.remove(scratch)
    return 0


def warm_up(spec: Spec, options: argparse.Namespace) -> int:
    """Learn from the data before a stream, once for all runs that learn the same."""
    checksum.refuse_broken(*options.input)
    _refuse_other_instructions(spec["instructions"])
    device_choice.take(spec)
    os.environ["SHIFTBENCH_THREADS"] = str(options.threads)

    from threadpoolctl import threadpool_limits

    from shiftbench.data.store import zarr_zip
    from shiftbench.evaluation.running import warm_up

    leftovers.remove(options.output)
    (stream,), (store, place), started = options.input, options.output, _now()
    with method_bounds.kept(), threadpool_limits(options.threads):
        learnt, cost = warm_up.run_job(spec, zarr_zip.read_any(stream))
    _write_cost(place, cost, started)
    zarr_zip.write(learnt, store)
    checksum.write(store, place)
    return 0


KINDS: dict[str, Callable[[Spec, argparse.Namespace], int]] = {"run": run, "warm-up": warm_up}


def _learn(spec: Spec, options: argparse.Namespace, scratch: Path) -> int:
    """Make the store and the cost of a run, from its checkpoint if there is one."""
    from threadpoolctl import threadpool_limits

    from shiftbench.cli import requeue
    from shiftbench.config import shown_words
    from shiftbench.data.store import zarr_zip
    from shiftbench.evaluation.running import harness, warm_up
    from shiftbench.runtime import slurm

    output, place = options.output
    stream, *others = options.input
    store, warmed = zarr_zip.read_any(stream), None
    if "word" in store.coords:
        words = store.coords["word"].values
        shown_words.refuse_absent(options.shown_words, spec["stream"]["name"], words)
    for path in [path for path in others if path not in _choices(options)]:
        warmed = warm_up.read(zarr_zip.read_tree(path), spec, str(path))
    left = slurm.minutes_left()
    limits = options.minutes if left is None else max(left, 0.0), options.threads
    started = _now()
    saved = scratch.absolute()  # a method may change the working folder
    try:
        with method_bounds.kept(), threadpool_limits(options.threads):
            result, cost = harness.run_job(spec, store, saved, *limits, warmed)
        _write_cost(place, cost, started)
        zarr_zip.write(result, output)
        checksum.write(output, place)  # here a kill loses nothing: the checkpoint still exists
        requeue.ignore()
    except harness.Stopped as reason:
        return requeue.end(output, scratch, str(reason))
    return 0


def _choices(options: argparse.Namespace) -> list[Path]:
    """Return the file with the settings that tuning chose; empty for other runs."""
    return [path for path in options.input[1:] if path.suffix == ".json"]


def _now() -> str:
    """Return the time, to the second, in UTC as ISO 8601 writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _write_cost(path: Path, cost: dict[str, Any], started: str) -> None:
    """Write cost, device and times of a job; for a resumed job, the times of its last attempt."""
    record = cost | devices.record() | {"started": started, "ended": _now()}
    atomic_files.write(path, json.dumps(record, indent=1, sort_keys=True) + "\n")


def _refuse_other_instructions(planned: str) -> None:
    """UserError where a run would not compute as its spec says; a warning without AVX2."""
    if planned == instructions.in_force():
        return
    if planned == "portable" and not instructions.available():
        log.warning("this processor has no AVX2: results agree with those of others to rounding")
        return
    raise UserError(
        f"this run is planned with {planned} instructions, but the process has"
        f" {instructions.in_force()} ones; start it as python -m shiftbench"
        f" --instructions {planned} job ..."
    )

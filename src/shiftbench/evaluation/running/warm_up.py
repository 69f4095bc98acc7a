"""Warm-ups: learning from the data before a stream, once for all methods that share it.

A job stores the result, and runs read it. A run without such a store does the same work itself:
seeds come from the study, the stream, the component and the repetition, never from the method, so
that both have the same bytes. config/warm_ups.py says which runs share one.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np
import xarray as xr

from shiftbench.config import components, provenance, warm_ups
from shiftbench.core import seeds as seeding
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Info, LearnerError, Problem, State
from shiftbench.data.store import zarr_zip
from shiftbench.evaluation.running import pipeline
from shiftbench.evaluation.running.cost import Meter
from shiftbench.evaluation.running.pipeline import Begin

log = logging.getLogger("shiftbench")

TASK = -1
"""The task number of the warm-up."""
STATE, INFO, REFUSED = "state", "info", "refused"


class Warmed(NamedTuple):
    """State and info after a warm-up, [S, ...] each; or why it failed."""

    state: State
    info: Info
    refused: str = ""


def run_job(spec: dict, stream: xr.Dataset | xr.DataTree) -> tuple[xr.DataTree, dict]:
    """Do a warm-up and return its store and its cost. spec: see config/specs.py."""
    meter = Meter()
    reader = components.load("streams", spec["stream"]["family"])
    first, last = spec["seeds"]
    size = stream.sizes["realisation"]
    task = reader.task(stream, [number % size for number in range(first, last + 1)], TASK)
    log.info("%s: warm-up of %d rows", spec["name"], task.train.mask.shape[1])
    with meter:
        warmed = learn(spec, reader.problem(stream), task.train)
    log.info("%s: done", spec["name"])
    return _store(spec, stream, warmed), meter.reading()


def learn(spec: dict, problem: Problem, batch: Batch) -> Warmed:
    """Do a warm-up on a batch. spec: the keys that warm_ups.shared returns."""
    (kind, name, settings), (first, last) = spec["component"], spec["seeds"]
    key = spec["study"], spec["stream"]["name"], "warm-up", name
    seeds = seeding.block(range(first, last + 1), *key)
    try:
        worker = pipeline.warm_up_worker(kind, name, settings, spec["model"], problem)
        state = worker.init(seeding.fold_each(seeds, "init"))
        return Warmed(*worker.begin(state, batch, seeding.fold_each(seeds, TASK, "observe")))
    except (LearnerError, ArithmeticError) as error:
        log.error("%s: the warm-up failed: %s", "/".join(key), error)
        return Warmed({}, {}, str(error))


def beginning(
    spec: dict, stream: xr.Dataset | xr.DataTree, problem: Problem, warmed: Warmed | None
) -> Begin | None:
    """Return the function that replaces a run's warm-up by a shared one; None if it shares none.

    spec: the spec of the run. warmed: the warm-up, if a job did it. The function raises
    LearnerError where the warm-up failed.
    """
    shared = warm_ups.shared(spec) if stream.attrs["warm_up"] else None
    if shared is None:
        return None

    def begin(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        result = warmed or learn(shared, problem, batch)
        if result.refused:
            raise LearnerError(result.refused)
        return state | result.state, result.info

    return begin


def read(store: xr.DataTree, run_spec: dict, place: str) -> Warmed:
    """Read a stored warm-up; UserError where it is not that of the run. place: for the error."""
    wanted = warm_ups.shared(run_spec)
    spec = provenance.spec(store) if "spec" in store.attrs else {}
    if wanted is None or wanted != {key: spec.get(key) for key in wanted}:
        raise UserError(f"{place}: this is not the warm-up of the run; leave the path to the rules")
    state, info = (
        {str(name): array.values for name, array in store[group].data_vars.items()}
        for group in (STATE, INFO)
    )
    return Warmed(state, info, store.attrs[REFUSED])


def _store(spec: dict, stream: xr.Dataset | xr.DataTree, warmed: Warmed) -> xr.DataTree:
    groups = {
        group: xr.Dataset(
            {
                name: (("seed", *(f"{name}_{i}" for i in range(1, np.ndim(a)))), np.asarray(a))
                for name, a in arrays.items()
            }
        )
        for group, arrays in ((STATE, warmed.state), (INFO, warmed.info))
    }
    store = xr.DataTree.from_dict({"/": xr.Dataset(attrs={REFUSED: warmed.refused}), **groups})
    zarr_zip.stamp(store, f"warm-up {spec['name']}", spec, stream.attrs.get("licence", ""))
    return store

"""What a component learns from the data before a stream, once for all methods that share it.

A job stores it, and the runs take it from there. A run that is given no such store does the same
work itself: the seeds come from the study, the stream, the component and the repetition, never
from the variant, so that both have the same bytes. See config/warm_ups.py for who shares.
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
"""The number of the task that is the warm-up."""
STATE, INFO, REFUSED = "state", "info", "refused"


class Warmed(NamedTuple):
    """State and info after a warm-up, [S, ...] each; or why the component refused the data."""

    state: State
    info: Info
    refused: str = ""


def run_job(spec: dict, stream: xr.Dataset | xr.DataTree) -> tuple[xr.DataTree, dict]:
    """The store of a warm-up and its cost. spec: see config/specs.py."""
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
    """The work itself; of `spec` counts what warm_ups.shared says."""
    (kind, name, settings), (first, last) = spec["component"], spec["seeds"]
    key = spec["study"], spec["stream"]["name"], "warm-up", name
    seeds = seeding.block(range(first, last + 1), *key)
    try:
        worker = pipeline.alone(kind, name, settings, spec["model"], problem)
        state = worker.init(seeding.fold_each(seeds, "init"))
        return Warmed(*worker.begin(state, batch, seeding.fold_each(seeds, TASK, "observe")))
    except (LearnerError, ArithmeticError) as error:
        log.error("%s: the warm-up failed: %s", "/".join(key), error)
        return Warmed({}, {}, str(error))


def beginning(
    spec: dict, stream: xr.Dataset | xr.DataTree, problem: Problem, warmed: Warmed | None
) -> Begin | None:
    """What the worker of a run begins with; None where it learns as the run's other seeds have it.

    spec: of the run. warmed: the work, if it was done already. LearnerError where it failed.
    """
    shared = warm_ups.shared(spec) if stream.attrs["warm_up"] else None
    if shared is None:
        return None

    def begin(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        found = warmed or learn(shared, problem, batch)
        if found.refused:
            raise LearnerError(found.refused)
        return state | found.state, found.info

    return begin


def read(store: xr.DataTree, run_spec: dict, place: str) -> Warmed:
    """What a job stored; UserError where that is not the warm-up of the run."""
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

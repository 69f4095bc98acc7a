"""The store of a run: scores, infos and status with labels; no times, no host."""

from __future__ import annotations

import json
import logging

import numpy as np
import xarray as xr

from shiftbench.core import instructions
from shiftbench.evaluation.running import saved_predictions
from shiftbench.evaluation.running.build_run import Run
from shiftbench.evaluation.running.cost import versions
from shiftbench.evaluation.running.run_state import (
    INFO,
    LOOKED,
    SCORE,
    TESTED,
    WARM_UP,
    Position,
    joined,
)

log = logging.getLogger("shiftbench")


def dataset(run: Run, position: Position) -> xr.Dataset:
    """Return the store of a run that ended at this position; NaN for tasks that it missed."""
    records = joined(position.records)
    done = max((array.shape[1] for array in records.values()), default=0)
    stacked = {
        name: _filled(array, run.problem.n_tasks)
        for name, array in records.items()
        if not name.startswith(saved_predictions.KEPT)
    }
    status = [f"failed: {reason}" if reason else "ok" for reason in position.failures]
    log.info("%s: %d tasks done, status %s", run.name, done, sorted(set(status)))
    variables = {
        "score": (("metric", "seed", "task"), _scores(run, stacked)),
        "status": ("seed", np.array(status, dtype=str)),
        "realisation": ("seed", np.array(run.realisations)),
    }
    variables |= _tested(run, stacked) | _infos(run, stacked)
    variables |= saved_predictions.variables(records, run.problem.n_tasks)
    return xr.Dataset(variables, coords=_coordinates(run), attrs=_origin(run))


def _scores(run: Run, stacked: dict[str, np.ndarray]) -> np.ndarray:
    """Return the scores of the run's metrics [metric, S, task]; NaN where one was not recorded."""
    empty = np.full((len(run.numbers), run.problem.n_tasks), np.nan)
    scores = [stacked.get(SCORE + metric.name, empty) for metric in run.metrics]
    return np.array(scores).reshape(-1, *empty.shape)


def _tested(run: Run, stacked: dict[str, np.ndarray]) -> dict[str, tuple]:
    """Return the scores of each task so far and at looks, for metrics that have them."""
    variables: dict[str, tuple] = {}
    dims = ("after_metric", "seed", "task", "tested_task")
    looked = (*dims[:3], "look", *dims[3:])[: 5 if run.looks_back else 4]
    for prefix, shape in ((TESTED, dims), (LOOKED, looked)):
        after = [metric.name for metric in run.metrics if prefix + metric.name in stacked]
        if after:
            values = np.array([stacked[prefix + name] for name in after])
            variables[prefix.rstrip("/")] = (shape, values)
            variables["after_metric"] = ("after_metric", np.array(after, dtype=str))
    if LOOKED.rstrip("/") in variables:
        share = np.arange(1, run.looks + 1) / run.looks
        about = {"long_name": "share of the steps of the task that are done", "units": "1"}
        variables["look"] = ("look", share, about)
    return variables


def _infos(run: Run, stacked: dict[str, np.ndarray]) -> dict[str, tuple]:
    infos = {}
    for key, array in stacked.items():
        if key.startswith(INFO):
            name = key.removeprefix(INFO)
            infos[f"info_{name}"] = _named(run, name, array, "task")
        elif key.startswith(WARM_UP):
            name = key.removeprefix(WARM_UP)
            infos[f"warm_up_{name}"] = _named(run, name, array[:, 0])
    return infos


def _named(run: Run, name: str, array: np.ndarray, *tasks: str) -> tuple:
    """Return an info with its dimensions; on counts, the first dimension of an info is the word."""
    dims = ["seed", *tasks, "hypothesis" if tasks else "warm_up_hypothesis"]
    dims += [f"{name}_{i}" for i in range(array.ndim - len(dims))]
    if run.problem.kind == "counts" and len(dims) > 2 + len(tasks):
        dims[2 + len(tasks)] = "word"
    return tuple(dims), array


def _coordinates(run: Run) -> dict[str, np.ndarray | list[int]]:
    coordinates: dict[str, np.ndarray | list[int]] = {
        "metric": np.array([metric.name for metric in run.metrics], dtype=str),
        "seed": run.numbers,
        "task": np.arange(run.problem.n_tasks),
    }
    if run.problem.kind == "counts":
        coordinates["word"] = run.labels["word"].values
    return coordinates


def _origin(run: Run) -> dict[str, str]:
    return {
        "title": run.name,
        "spec": json.dumps(run.spec, sort_keys=True),
        "code": run.spec["code"],
        "instructions": instructions.in_force(),
        "versions": json.dumps(versions(), sort_keys=True),
        "licence": run.stream.attrs.get("licence", ""),
        "data": run.stream.attrs.get("data", ""),
    }


def _filled(array: np.ndarray, n_tasks: int) -> np.ndarray:
    """Pad an array [S, tasks, ...] with NaN to all tasks."""
    missing = n_tasks - array.shape[1]
    if missing == 0:
        return array
    filler = np.full((array.shape[0], missing, *array.shape[2:]), np.nan)
    return np.concatenate([array.astype(float), filler], axis=1)

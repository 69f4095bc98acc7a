"""Which histories the hypotheses of a beam stand for: backtracking in a run store.

A run store keeps, per task, the slot of each hypothesis before the task (`info_parent`)
and its decision (`info_shift`). Slots are sorted by weight, so slot 0 of the last task is
the most likely hypothesis in hindsight, and its ancestors tell its whole history.
"""

from __future__ import annotations

import numpy as np
import xarray as xr


def decides(run: xr.Dataset) -> bool:
    """Whether the learner of this run makes decisions about shifts."""
    return "info_parent" in run and "info_shift" in run


def lineage(run: xr.Dataset, hypothesis: int = 0) -> np.ndarray:
    """Slots [seed, task] of the ancestors of the hypothesis in this slot after the last task."""
    parent = run["info_parent"].transpose("seed", "task", "hypothesis").values.astype(int)
    seeds, tasks = parent.shape[:2]
    slots = np.full((seeds, tasks), hypothesis)
    rows = np.arange(seeds)
    for task in range(tasks - 1, 0, -1):
        slots[:, task - 1] = parent[rows, task, slots[:, task]]
    return slots


def along(run: xr.Dataset, name: str, slots: np.ndarray) -> np.ndarray:
    """Info `name` [seed, task, ...] of the hypotheses in these slots [seed, task]."""
    values = run[f"info_{name}"].transpose("seed", "task", "hypothesis", ...).values
    seed, task = np.indices(slots.shape)
    return values[seed, task, slots]


def shifts(run: xr.Dataset, hypothesis: int = 0) -> np.ndarray:
    """Tasks [seed, task] bool before which this hypothesis places a shift, in hindsight."""
    return along(run, "shift", lineage(run, hypothesis)).astype(bool)

"""Histories of the hypotheses of a beam, traced back in a run store.

A run store keeps, per task, the slot of each hypothesis before the task (`info_parent`)
and its decision (`info_shift`). Slots are sorted by weight, so slot 0 of the last task is
the most likely hypothesis in hindsight, and its ancestors give its whole history.

On streams of counts each word has its own hypotheses, so all arrays have one more dimension, the
word.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring import run_infos

NEVER = 2**40
"""Number of tasks since the last shift where there was none; no run has so many tasks."""


def lineage(run: xr.Dataset, hypothesis: int = 0) -> np.ndarray:
    """Return the slots [seed, task] of the ancestors of a hypothesis, given by its final slot."""
    parent = run_infos.values(run, "parent").astype(int)
    slots = np.full((*parent.shape[:2], *parent.shape[3:]), hypothesis)
    for task in range(parent.shape[1] - 1, 0, -1):
        slots[:, task - 1] = _take_slots(parent[:, task], slots[:, task])
    return slots


def along(run: xr.Dataset, name: str, slots: np.ndarray) -> np.ndarray:
    """Return an info [seed, task, ...] of the hypotheses in these slots [seed, task]."""
    values = run_infos.values(run, name)
    tasks = [_take_slots(values[:, task], slots[:, task]) for task in range(slots.shape[1])]
    return np.stack(tasks, axis=1)


def shifts(run: xr.Dataset, hypothesis: int = 0) -> np.ndarray:
    """Return the tasks [seed, task] bool before which a hypothesis places a shift, in hindsight."""
    return along(run, "shift", lineage(run, hypothesis)).astype(bool)


def since_shift(run: xr.Dataset) -> np.ndarray:
    """Return the tasks since the last shift of every history kept [seed, task, hypothesis, ...].

    0 at the task that begins with the shift; at least NEVER for a history without one.
    """
    shifted = run_infos.values(run, "shift").astype(bool)
    parent = run_infos.values(run, "parent").astype(int)
    since = np.full(shifted.shape, NEVER)
    slots = np.arange(parent[:, 0].size).reshape(parent[:, :1].shape)
    slot_before = np.take_along_axis(slots, parent, axis=2)
    for task in range(1, shifted.shape[1]):
        before = since[:, task - 1].ravel()[slot_before[:, task]]
        since[:, task] = np.where(shifted[:, task], 0, before + 1)
    return since


def _take_slots(values: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """Return, of values [seed, hypothesis, ...], the one in each of these slots [seed, ...]."""
    index = slots.reshape(slots.shape[0], 1, *slots.shape[1:])
    index = index.reshape(*index.shape, *[1] * (values.ndim - index.ndim))
    return np.take_along_axis(values, index, axis=1)[:, 0]

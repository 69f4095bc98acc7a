"""The changes of one seed of a run, each with its probability."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring import beam_lineage, run_infos, segmentation

NEAR = 3
"""Tasks by which two positions of the same change may differ."""


class Change(NamedTuple):
    """A change at the start of a segment.

    before: first task of the segment before; task: first task of the segment; end: the task after
    its last one. probability: that of a change within NEAR tasks, as the method gave it at the end
    of the segment.
    """

    before: int
    task: int
    end: int
    probability: float


def inferred(run: xr.Dataset, seed: int = 0) -> list[Change] | None:
    """Return the changes of the most probable segmentation.

    None for a method that makes no decisions about changes, and for a run that failed.
    """
    one = run.isel(seed=slice(seed, seed + 1))
    points = segmentation.changepoints(one) if one.sizes["seed"] else None
    if points is None:
        return None
    starts = [0, *points[0].tolist(), one.sizes["task"]]
    return [
        Change(before, task, end, _probability(one, before, task, end))
        for before, task, end in zip(starts, starts[1:], starts[2:], strict=False)
    ]


def _probability(run: xr.Dataset, before: int, task: int, end: int) -> float:
    """Return the probability of a change near a task, as held after the last task before `end`."""
    past = run.isel(task=slice(0, end))
    weight = np.exp(past["info_log_weight"].isel(seed=0, task=-1).values)
    first, last = max(before + 1, task - NEAR), min(end - 1, task + NEAR)
    if run_infos.has_lineage(run):
        near = [beam_lineage.shifts(past, k)[0, first : last + 1].any() for k in range(len(weight))]
    else:
        length = past["info_run_length"].isel(seed=0, task=-1).values
        near = (end - 1 - length >= first) & (end - 1 - length <= last)
    return float(weight[np.array(near, bool)].sum())

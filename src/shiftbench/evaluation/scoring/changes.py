"""The changes of one seed of a run with their probability, and how far the data move at each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring import beam_lineage, segmentation

NEAR = 3
"""Tasks between two positions that date the same change."""


class Change(NamedTuple):
    """A change: the first task of its segment, the task after its last one, the segment before it.

    probability: that the learner gave, at the end of the segment, to a change within NEAR tasks.
    """

    before: int
    task: int
    end: int
    probability: float


def found(run: xr.Dataset, seed: int = 0) -> list[Change] | None:
    """The changes of the most probable segmentation; None where there is none.

    That is so of a learner that decides nothing about changes, and of a run that failed.
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
    """Of a change near a task, as it is known after the last task before `end`."""
    known = run.isel(task=slice(0, end))
    weight = np.exp(known["info_log_weight"].isel(seed=0, task=-1).values)
    first, last = max(before + 1, task - NEAR), min(end - 1, task + NEAR)
    if beam_lineage.decides(run):
        near = [
            beam_lineage.shifts(known, k)[0, first : last + 1].any() for k in range(len(weight))
        ]
    else:
        length = known["info_run_length"].isel(seed=0, task=-1).values
        near = (end - 1 - length >= first) & (end - 1 - length <= last)
    return float(weight[np.array(near, bool)].sum())

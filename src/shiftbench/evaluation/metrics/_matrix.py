"""What the metrics of continual learning share: the accuracy matrix of a run.

A[t, j] is the score on the test data of task j after task t was learnt (eschenhagen2019vogn, 4.1).
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.core.errors import UserError

SOURCE = "accuracy"
"""The metric whose matrix is meant where none is named."""


def matrix(run: xr.Dataset, metric: str = SOURCE) -> np.ndarray:
    """A [seed, task, task], NaN for tasks to come, of a metric of predictions after a task.

    UserError where the run has not been judged by this metric on the tasks before.
    """
    if not run.sizes["seed"]:  # a run that failed as a whole may have ended before any score
        return np.empty((0, run.sizes["task"], run.sizes["task"]))
    if "tested" not in run or metric not in run["after_metric"].values:
        raise UserError(
            f"acc, bwt and fwt, and what is drawn from them, need the metric {metric} on a stream "
            "that judges a learner on all tasks so far, such as permuted-images; add the metric, "
            "or take them out of this study"
        )
    return run["tested"].sel(after_metric=metric).transpose("seed", "task", ...).values


def diagonal(run: xr.Dataset, metric: str = SOURCE) -> np.ndarray:
    """A[j, j] [seed, task]: each task's score just after it was learnt."""
    return np.diagonal(matrix(run, metric), axis1=1, axis2=2)


def mean(values: np.ndarray) -> np.ndarray:
    """Mean [seed] over tasks of values [seed, task]; NaN without tasks."""
    return values.mean(axis=1) if values.shape[1] else np.full(len(values), np.nan)

"""Metrics of plasticity: whether a learner learns its hundredth task as well as its first.

a_t is the mean accuracy on task t while it is learnt, over the looks inside it, on its own test
data. kumar2023plasticity takes the accuracy on each minibatch before it is learnt. For rows seen
once this has the same expectation, except in the first minibatch, where it is that of chance.
Without looks a_t is the accuracy at the end of the task, as in dohare2024plasticity.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray as xr
from scipy.stats import theilslopes

from shiftbench.core.metric import Metric
from shiftbench.evaluation.metrics import continual

PER = 100
"""Number of tasks to which the slope refers."""


def own_accuracy(run: xr.Dataset) -> np.ndarray:
    """Return the accuracy on each task's own test data at its looks [seed, task, look].

    Without looks, one look a task, at its end.
    """
    if "looked" in run:
        looked = (
            run["looked"].sel(after_metric=continual.SOURCE).transpose("seed", "task", "look", ...)
        )
        values = looked.values
        if "tested_task" not in looked.dims:  # the stream does not look back
            return values
        return np.stack([values[:, t, :, t] for t in range(values.shape[1])], axis=1)
    if "tested" in run:
        return continual.diagonal(run)[..., np.newaxis]
    return (
        run["score"].sel(metric=continual.SOURCE).transpose("seed", "task").values[..., np.newaxis]
    )


def accuracy_while_learnt(run: xr.Dataset) -> np.ndarray:
    """Return a_t [seed, task]."""
    return own_accuracy(run).mean(axis=2)


def plasticity(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the mean of a_t over tasks [seed] (kumar2023plasticity, average online accuracy)."""
    return accuracy_while_learnt(run).mean(axis=1)


def slope(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the change of a_t in 100 tasks [seed]: the median slope of all pairs (Theil, Sen).

    Negative: the learner loses plasticity. NaN for a single task.
    """
    values = accuracy_while_learnt(run)
    if values.shape[1] < 2:
        return np.full(len(values), np.nan)
    return np.array([PER * theilslopes(of_seed)[0] for of_seed in values], float)


OfTasks = partial(Metric, stage="run", better="higher", requires=("tests",), uses=("accuracy",))
METRICS = [
    OfTasks(
        "plasticity",
        about="Accuracy on a task while it is learnt, mean over the looks inside all tasks.",
        unit="fraction",
        bounds=(0.0, 1.0),
        score=plasticity,
    ),
    OfTasks(
        "plasticity_slope",
        about="Change of the accuracy on a task while it is learnt, in a hundred tasks.",
        unit="fraction per 100 tasks",
        score=slope,
    ),
]

"""Metrics of continual learning at looks inside the tasks, where accuracies may drop and recover.

A[t, h, j] is the accuracy on the test data of task j at look h of task t, after the share h / H of
its training; the last look is the end of the task. The key `looks` of a study sets H. Without it
H is 1, and the metrics use the ends of tasks alone.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray as xr

from shiftbench.core.metric import Metric
from shiftbench.evaluation.metrics import continual


def looks(run: xr.Dataset, metric: str = continual.SOURCE) -> np.ndarray:
    """Return A [seed, task, look, task] of a metric of stage "after"; NaN for tasks to come.

    UserError where the run has not been judged by this metric on the tasks before.
    """
    ends = continual.matrix(run, metric)
    if "looked" not in run:
        return ends[:, :, np.newaxis]
    values = run["looked"].sel(after_metric=metric)
    return values.transpose("seed", "task", "look", "tested_task").values


def anytime_accuracy(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the mean over tasks t of the mean over looks h and tasks j <= t of A[t, h, j] [seed].

    The average of `anytime_accuracy_seen` of CapyMOA (ocl/evaluation). There looks are a whole
    number of minibatches apart, so the last one may precede the end of a task; here it never does.
    CapyMOA treats that last look as the end of the task, so its BWT differs from ours.
    """
    values = looks(run)
    by_task = [values[:, t, :, : t + 1].mean(axis=(1, 2)) for t in range(values.shape[1])]
    return np.mean(by_task, axis=0)


def min_acc(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the mean over j < T of the least A[t, h, j] of the tasks t > j [seed].

    delange2023stability, min-ACC at the end of the stream. NaN for a single task.
    """
    values = looks(run)
    tasks = values.shape[1]
    if tasks < 2:
        return np.full(len(values), np.nan)
    least = [values[:, j + 1 :, :, j].min(axis=(1, 2)) for j in range(tasks - 1)]
    return np.mean(least, axis=0)


def worst_case_acc(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return A[T, H, T] / T + (1 - 1 / T) min-ACC [seed] (delange2023stability, WC-ACC)."""
    values = looks(run)
    tasks = values.shape[1]
    last = values[:, -1, -1, -1]
    return last if tasks == 1 else last / tasks + (1 - 1 / tasks) * min_acc(run, stream)


def stability_gap(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return how far accuracy on earlier tasks drops while a task is learnt [seed].

    The mean over tasks t > 1 of the mean over j < t of A[t - 1, H, j] - min_h A[t, h, j], after
    delange2023stability. Negative where learning raises it throughout. NaN for a single task.
    """
    values = looks(run)
    tasks = values.shape[1]
    if tasks < 2:
        return np.full(len(values), np.nan)
    drops = [
        (values[:, t - 1, -1, :t] - values[:, t, :, :t].min(axis=1)).mean(axis=1)
        for t in range(1, tasks)
    ]
    return np.mean(drops, axis=0)


OfLooks = partial(
    Metric, unit="fraction", stage="run", requires=("earlier-tests",), uses=("accuracy",)
)
METRICS = [
    OfLooks(
        "anytime_accuracy",
        about="Accuracy on the tasks so far, mean over the looks inside all tasks.",
        bounds=(0.0, 1.0),
        better="higher",
        score=anytime_accuracy,
    ),
    OfLooks(
        "min_acc",
        about="Least accuracy on a task at any look after it was learnt, mean over tasks: min-ACC.",
        bounds=(0.0, 1.0),
        better="higher",
        score=min_acc,
    ),
    OfLooks(
        "worst_case_acc",
        about="Accuracy on the last task and min-ACC on the others, each task alike: WC-ACC.",
        bounds=(0.0, 1.0),
        better="higher",
        score=worst_case_acc,
    ),
    OfLooks(
        "stability_gap",
        about="How far accuracy on earlier tasks drops at the worst look inside a task.",
        bounds=(-1.0, 1.0),
        better="lower",
        score=stability_gap,
    ),
]

"""Metrics of continual learning, from the accuracy matrix of a run.

A[t, j] is the score on the test data of task j after task t was learnt (eschenhagen2019vogn, 4.1).
"""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray as xr

from shiftbench.config import provenance
from shiftbench.core.errors import UserError
from shiftbench.core.metric import Metric

SOURCE = "accuracy"
"""The metric of the matrix where no other is named."""


def matrix(run: xr.Dataset, metric: str = SOURCE) -> np.ndarray:
    """Return A [seed, task, task] of a metric of stage "after"; NaN for tasks to come.

    UserError where the run has not been judged by this metric on the tasks before.
    """
    if not run.sizes["seed"]:  # a run whose seeds all failed may have ended before any score
        return np.empty((0, run.sizes["task"], run.sizes["task"]))
    if "tested" not in run or metric not in run["after_metric"].values:
        raise UserError(
            f"acc, bwt and fwt, and what is drawn from them, need the metric {metric} on a stream "
            "that judges a learner on all tasks so far, such as permuted-images; add the metric, "
            "or take them out of this study"
        )
    return run["tested"].sel(after_metric=metric).transpose("seed", "task", ...).values


def diagonal(run: xr.Dataset, metric: str = SOURCE) -> np.ndarray:
    """Return A[j, j] [seed, task]: each task's score just after it was learnt."""
    return np.diagonal(matrix(run, metric), axis1=1, axis2=2)


def acc(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the average accuracy mean_j A[T, j] [seed] (eschenhagen2019vogn, Eq. 64).

    Learners that start each task from scratch know only the last task in the end; for them it is
    mean_j A[j, j], as in the paper's rows "from scratch".
    """
    return _mean(_in_the_end(run))


def learning_accuracy(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return mean_j A[j, j] [seed] (riemer2019mer, experiments).

    Beside `acc` it distinguishes a learner that forgets from one that has not learnt.
    """
    return _mean(diagonal(run))


def acc_first(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return A[T, 1] [seed], of the first task in the end; A[1, 1] as for `acc`."""
    return _in_the_end(run)[:, 0]


def acc_last(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return A[T, T] [seed], of the last task."""
    return _in_the_end(run)[:, -1]


def bwt(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the mean over j < T of A[T, j] - A[j, j] [seed] (Eq. 65); NaN for a single task."""
    return _mean((matrix(run)[:, -1] - diagonal(run))[:, :-1])


def fwt(run: xr.Dataset, stream: xr.Dataset, reference: xr.Dataset | None) -> np.ndarray:
    """Return the mean over j > 1 of A[j, j] - s_j [seed] (Eq. 66).

    s_j is the accuracy on task j, just learnt, of the study's `reference` with the same seed and
    so the same tasks. NaN for a single task, without a reference, and where its seed failed.
    """
    gained = diagonal(run)
    if reference is None:
        return np.full(len(gained), np.nan)
    scratch = xr.DataArray(diagonal(reference), {"seed": reference["seed"]}, ("seed", "task"))
    return _mean((gained - scratch.reindex(seed=run["seed"]).values)[:, 1:])


def forgetting(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the mean over j < T of max_{j <= l < T} A[l, j] - A[T, j] [seed]; NaN for one task.

    chaudhry2018riemannian, Eq. 3. Unlike -bwt it is measured from the best moment of a task, which
    later tasks may have improved. It is negative where the last task improves what was best.
    """
    values = matrix(run)[:, :, :-1]
    if not values.size:
        return np.full(len(values), np.nan)
    return _mean(np.nanmax(values[:, :-1], axis=1) - values[:, -1])


def _in_the_end(run: xr.Dataset) -> np.ndarray:
    """Return A[T, j] [seed, task], and A[j, j] of learners that start each task from scratch."""
    from_scratch = provenance.offering(run, "scratch") is not None
    return diagonal(run) if from_scratch else matrix(run)[:, -1]


def _mean(values: np.ndarray) -> np.ndarray:
    """Return the mean [seed] over tasks of values [seed, task]; NaN without tasks."""
    return values.mean(axis=1) if values.shape[1] else np.full(len(values), np.nan)


OfMatrix = partial(
    Metric,
    unit="fraction",
    better="higher",
    stage="run",
    requires=("earlier-tests",),
    uses=("accuracy",),
)
METRICS = [
    OfMatrix(
        "acc",
        about="Average accuracy over all tasks after the last was learnt, mean_j A[T, j].",
        bounds=(0.0, 1.0),
        score=acc,
    ),
    OfMatrix(
        "acc_first",
        about="Accuracy on the first task after the last was learnt, A[T, 1].",
        bounds=(0.0, 1.0),
        score=acc_first,
    ),
    OfMatrix(
        "acc_last",
        about="Accuracy on the last task after it was learnt, A[T, T].",
        bounds=(0.0, 1.0),
        score=acc_last,
    ),
    OfMatrix(
        "learning_accuracy",
        about="Learning accuracy: accuracy on each task just learnt, before later ones act,"
        " mean_j A[j, j].",
        bounds=(0.0, 1.0),
        score=learning_accuracy,
    ),
    OfMatrix(
        "bwt",
        about="Backward transfer: what later tasks did to the accuracy on earlier ones, negative:"
        " forgetting.",
        bounds=(-1.0, 1.0),
        score=bwt,
    ),
    OfMatrix(
        "forgetting",
        about="Accuracy that each earlier task has lost at the end, from the best it ever had.",
        bounds=(-1.0, 1.0),
        better="lower",
        score=forgetting,
    ),
    OfMatrix(
        "fwt",
        about="Forward transfer: accuracy on new tasks minus that of a learner that starts from"
        " scratch.",
        bounds=(-1.0, 1.0),
        study=("reference",),
        score=fwt,
    ),
]

"""What the metrics of kept predictions share: one number of rows, for each seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import xarray as xr

from shiftbench.config import provenance
from shiftbench.evaluation.scoring import predictions, referral
from shiftbench.evaluation.scoring.predictions import Shift
from shiftbench.evaluation.scoring.referral import Score


def after_tasks(run: xr.Dataset, score: Score) -> np.ndarray:
    """Mean over tasks [seed] of a score of the test rows of a task, predicted after it.

    NaN where that of a task is. UserError where the rows of a task are of one class.
    """
    stream = provenance.spec(run)["stream"]["name"]
    found = []
    for seed, tasks in zip(run["seed"].values, predictions.tested(run), strict=True):
        for task, rows in enumerate(tasks):
            referral.refuse_one_class(rows, f"stream {stream}, seed {seed}, task {task}")
        found.append([score(rows) for rows in tasks])
    return _means(found)


def referred(run: xr.Dataset, score: Score, share: float) -> np.ndarray:
    """`after_tasks` of what is left when this share of largest mutual information is referred."""
    return after_tasks(run, lambda rows: score(referral.kept(rows, share)))


def at_shifts(run: xr.Dataset, stream: xr.Dataset, score: Callable[[Shift], float]) -> np.ndarray:
    """Mean over shifts [seed] of a score of what surrounds a shift; NaN without shifts."""
    return _means([score(shift) for shift in each] for each in predictions.shifts(run, stream))


def new_segments(run: xr.Dataset, stream: xr.Dataset, score: Score) -> np.ndarray:
    """A score [seed] of the rows of all first tasks of new segments, before they are learnt."""
    rows = predictions.new_rows(run, stream)
    return np.array([score(one) for one in rows], float)


def _means(values: Iterable[list[float]]) -> np.ndarray:
    return np.array([np.mean(each) if each else np.nan for each in values], float)

"""Means, spreads and intervals over seeds.

Intervals are Student t at 95 %, over seeds as the independent repetitions; missing seeds
(NaN) are left out and n says how many remain. Two learners are compared seed by seed,
because a seed shows both the same stream.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

LEVEL = 0.95


class Interval(NamedTuple):
    """Of one number over seeds: mean, standard deviation (ddof 1), 95 % interval, seeds.

    mean is NaN for n = 0; sd, low and high for n < 2.
    """

    mean: float
    sd: float
    low: float
    high: float
    n: int


def interval(values: np.ndarray) -> Interval:
    """Mean over seeds with its interval, of values [seed]; NaN is left out."""
    kept = np.asarray(values, dtype=float)
    kept = kept[~np.isnan(kept)]
    n = len(kept)
    if n < 2:
        return Interval(float(kept[0]) if n else np.nan, np.nan, np.nan, np.nan, n)
    with np.errstate(invalid="ignore"):  # an infinite score keeps its mean, without interval
        mean, sd = float(kept.mean()), float(kept.std(ddof=1))
    half = float(stats.t.ppf(0.5 + LEVEL / 2, n - 1)) * sd / np.sqrt(n)
    return Interval(mean, sd, mean - half, mean + half, n)


def paired_difference(values: np.ndarray, baseline: np.ndarray) -> Interval:
    """Mean of values - baseline, [seed] each, over the seeds that have both."""
    return interval(np.asarray(values, dtype=float) - np.asarray(baseline, dtype=float))


class Band(NamedTuple):
    """Mean over seeds and its 95 % interval at every task, [task] each."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def band(values: np.ndarray) -> Band:
    """`interval` at every task of values [seed, task]."""
    columns = [interval(column) for column in np.asarray(values).T]
    return Band(*(np.array([getattr(one, name) for one in columns]) for name in Band._fields))


def three_stage_sd(by_task: np.ndarray, shift: np.ndarray) -> float:
    """The spread that Table 1 of li2021vbs reports (its section C.2), of one seed.

    by_task [task] is cut into segments at the true shifts [task] bool; the standard
    deviation is taken within each segment and then averaged over segments. Segments of one
    task have none and are skipped (in the paper's 100 tasks, the last). The paper does not
    give ddof; this is 0, NumPy's default, which its authors' code would take unless told.
    NaN without a segment of two tasks or with a missing task.
    """
    segments = np.split(np.asarray(by_task, dtype=float), np.flatnonzero(shift[1:]) + 1)
    spreads = [segment.std() for segment in segments if len(segment) > 1]
    return float(np.mean(spreads)) if spreads else np.nan

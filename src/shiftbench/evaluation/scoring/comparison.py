"""Comparison of two methods seed by seed: their difference, and what the seeds can resolve.

Everything is computed from the paired differences [seed] of the seeds that both have. With fewer
than two of these, or if all are equal, the spread is unknown: what rests on it is NaN, and nothing
is resolved.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats
from statsmodels.stats.power import TTestPower

from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.statistics import Bounds, Interval

ALPHA = 0.05
POWER = 0.8
ONE_SEED, ALIKE = "one seed", "all seeds alike"
"""Why nothing is tested, as `untested` says it."""


class Comparison(NamedTuple):
    """One method minus another.

    difference: mean over seeds with its interval. p: p-value of the paired t test, two-sided.
    equivalent: posterior probability that the mean difference is inside the region of practical
    equivalence (Student t, under the reference prior 1/sd). smallest: the smallest mean difference
    that this spread and number of seeds resolve at 5 %, two-sided, with power 80 %.
    """

    difference: Interval
    p: float
    equivalent: float
    smallest: float


def compare(
    values: np.ndarray,
    others: np.ndarray,
    region: float,
    within: Bounds = statistics.UNBOUNDED,
) -> Comparison:
    """Compare two methods by their scores [seed], NaN where a seed failed.

    region: half the width of the region of practical equivalence. within: bounds of the scores.
    """
    difference = statistics.paired_difference(values, others, within)
    if statistics.is_rounding(difference.sd, values, others):
        return Comparison(difference, np.nan, np.nan, np.nan)
    n = difference.n
    error = difference.sd / np.sqrt(n)
    p = 2 * stats.t.sf(abs(difference.mean) / error, n - 1)
    below, above = stats.t.cdf([-region, region], n - 1, difference.mean, error)
    return Comparison(
        difference, float(p), float(above - below), resolvable_effect(n) * difference.sd
    )


def untested(methods: Iterable[np.ndarray]) -> str:
    """Return why no test is possible between methods, by their scores [seed]; empty if one is.

    `ONE_SEED`, or `ALIKE` where each method has the same score with all seeds that did not fail.
    """
    scores = [np.asarray(of, dtype=float) for of in methods]
    if scores and all(len(of) == 1 for of in scores):
        return ONE_SEED
    kept = [of[~np.isnan(of)] for of in scores]
    several = any(len(of) > 1 for of in kept)
    return ALIKE if several and all(map(is_constant, kept)) else ""


def is_constant(scores: np.ndarray) -> bool:
    """Return whether all scores are equal, but for rounding."""
    return bool(np.isclose(scores, scores[:1], rtol=statistics.EQUAL, atol=0.0).all())


@functools.cache
def resolvable_effect(n: int) -> float:
    """Return the smallest effect that n seeds resolve, in standard deviations of differences."""
    # statsmodels warns that it changes solvers where n is very small.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        effect = TTestPower().solve_power(nobs=n, alpha=ALPHA, power=POWER)
    return float(np.squeeze(effect))


def corrected(p: Sequence[float]) -> np.ndarray:
    """Return the p-values of one family corrected by Holm's method; NaN stays, uncounted."""
    values = np.array(p, dtype=float)
    order = np.argsort(values)[: np.count_nonzero(~np.isnan(values))]  # NaN is last
    stepped = values[order] * np.arange(len(order), 0, -1)
    values[order] = np.minimum(np.maximum.accumulate(stepped), 1)
    return values

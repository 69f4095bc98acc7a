"""Means, spreads and intervals over seeds.

Intervals are at 95 %, over seeds as the independent repetitions; missing seeds (NaN) are left
out and n says how many remain. If all seeds have the same score, their spread is unknown and there
is no interval. Intervals never leave the domain of a metric: a Student t interval is
taken on the logit scale where a metric has two bounds, on the logarithmic one where it has one
(delta method), so that mean, sd and n are enough to compute it again. Two learners are
compared seed by seed, because a seed shows both the same stream.

Measured (`python -m perf.intervals`: 3 to 20 seeds; scores of 0.98 ± 0.02, 0.9 ± 0.15,
log-normal ones and others): they hold the true mean in 88 to 97 % of studies, Student t as it
is in 78 to 96 %, SciPy's bootstrap BCa, which would need all seeds, in 62 to 95 %.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special, stats

from shiftbench.config import components

LEVEL = 0.95
"""The level of all confidence intervals."""
EQUAL = 1e-12
"""Spread over seeds, as a share of the scores, up to which they count as equal."""
Bounds = tuple[float | None, float | None]
"""Lowest and highest value that a number can have; None for an open end."""
UNBOUNDED: Bounds = (None, None)


class Interval(NamedTuple):
    """A number over seeds: mean, standard deviation (ddof 1), 95 % interval, number of seeds.

    mean is NaN for n = 0, sd for n < 2; low and high for n < 2 and, except for a `share`, if all
    seeds are equal.
    """

    mean: float
    sd: float
    low: float
    high: float
    n: int

    def times(self, factor: float) -> Interval:
        """Return the same in other units, such as percent; factor > 0."""
        return Interval(*(factor * one for one in self[:4]), self.n)


class _Scale(NamedTuple):
    """The scale on which an interval is symmetric: transformation, derivative and inverse."""

    to: Callable[[float], float]
    slope: Callable[[float], float]
    back: Callable[[float], float]


def bounds(metric: str) -> Bounds:
    """Return the lowest and the highest possible score of a metric."""
    return components.metric(metric).bounds


def of_difference(of_each: Bounds) -> Bounds:
    """Return the bounds of the difference of two numbers with the same bounds."""
    low, high = of_each
    return UNBOUNDED if low is None or high is None else (low - high, high - low)


def described(*metrics: str) -> str:
    """Describe the intervals of these metrics for captions."""
    ends = [2 - bounds(metric).count(None) for metric in metrics]
    scale = {0: "", 1: " on the log scale", 2: " on the logit scale"}
    if len(set(ends)) == 1:
        return f"95 % interval (Student t{scale[ends[0]]})"
    return "95 % interval (Student t, on the logit or log scale where a metric is bounded)"


def interval(values: np.ndarray, within: Bounds = UNBOUNDED) -> Interval:
    """Return the mean of values [seed] with its interval inside the bounds; NaN is left out."""
    kept = np.asarray(values, dtype=float)
    kept = kept[~np.isnan(kept)]
    n = len(kept)
    if n < 2:
        return Interval(float(kept[0]) if n else np.nan, np.nan, np.nan, np.nan, n)
    with np.errstate(invalid="ignore"):  # an infinite score keeps its mean, without interval
        mean, sd = float(kept.mean()), float(kept.std(ddof=1))
    return Interval(mean, sd, *_ends(mean, sd, n, within), n)


def share(flags: np.ndarray) -> Interval:
    """Return the share of seeds whose flag is 1, with Wilson's interval.

    flags: [seed], each 0 or 1; NaN is left out.
    """
    flags = flags[~np.isnan(flags)]
    n = len(flags)
    if n < 2:
        return interval(flags)
    wilson = stats.binomtest(int(np.sum(flags)), n).proportion_ci(LEVEL, method="wilson")
    return interval(flags)._replace(low=float(wilson.low), high=float(wilson.high))


def paired_difference(
    values: np.ndarray, baseline: np.ndarray, within: Bounds = UNBOUNDED
) -> Interval:
    """Return the mean of values - baseline [seed], over the seeds that have both.

    within: the bounds of each of the two.
    """
    first, second = (np.asarray(one, dtype=float) for one in (values, baseline))
    found = interval(first - second, of_difference(within))
    if is_rounding(found.sd, first, second):
        return found._replace(low=np.nan, high=np.nan)
    return found


def is_rounding(sd: float, *scores: np.ndarray) -> bool:
    """Return whether the spread of differences of scores is rounding, or unknown (NaN)."""
    return not sd > EQUAL * np.nanmax(np.abs(scores), initial=0.0)


class Band(NamedTuple):
    """Mean over seeds and its 95 % interval at every task, [task] each."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def times(self, factor: float) -> Band:
        """Return the same in other units, such as percent; factor > 0."""
        return Band(*(factor * one for one in self))


def band(values: np.ndarray, within: Bounds = UNBOUNDED) -> Band:
    """Return the `interval` at every task of values [seed, task]; its mean if seeds are equal."""
    columns = [interval(column, within) for column in np.asarray(values).T]
    numbers = [(one.mean, one.low, one.high, one.n) for one in columns]
    mean, low, high, n = np.reshape(numbers, (-1, 4)).T
    equal = np.isfinite(mean) & np.isnan(low) & (n > 1)
    return Band(mean, np.where(equal, mean, low), np.where(equal, mean, high))


def three_stage_sd(by_task: np.ndarray, shift: np.ndarray) -> float:
    """Return the spread of one seed that Table 1 of li2021vbs reports (its section C.2).

    by_task [task] is cut into segments at the true shifts [task] bool; the standard
    deviation is taken within each segment and then averaged over segments. Segments of one
    task have none and are skipped (in the paper's 100 tasks, the last). The paper does not
    give ddof; this is 0, NumPy's default, which its authors' code would use. NaN
    without a segment of two tasks or with a missing task.
    """
    segments = np.split(np.asarray(by_task, dtype=float), np.flatnonzero(shift[1:]) + 1)
    spreads = [segment.std() for segment in segments if len(segment) > 1]
    return float(np.mean(spreads)) if spreads else np.nan


def _ends(mean: float, sd: float, n: int, within: Bounds) -> tuple[float, float]:
    """Return the ends of the interval; NaN if all seeds are equal, but for rounding."""
    low, high = within
    at_a_bound = (low is not None and mean <= low) or (high is not None and mean >= high)
    if sd <= EQUAL * abs(mean) or at_a_bound:
        return np.nan, np.nan
    half = float(stats.t.ppf(0.5 + LEVEL / 2, n - 1)) * sd / np.sqrt(n)
    scale = _scale(within)
    place, reach = scale.to(mean), half * scale.slope(mean)
    ends = float(scale.back(place - reach)), float(scale.back(place + reach))
    # The transformation and its inverse may move the mean by its last bit.
    return min(*ends, mean), max(*ends, mean)


def _scale(within: Bounds) -> _Scale:
    low, high = within
    if low is not None and high is not None:
        width = high - low
        return _Scale(
            lambda x: special.logit((x - low) / width),
            lambda x: width / ((x - low) * (high - x)),
            lambda y: low + width * special.expit(y),
        )
    if low is not None:
        return _Scale(lambda x: np.log(x - low), lambda x: 1 / (x - low), lambda y: low + np.exp(y))
    if high is not None:
        return _Scale(
            lambda x: np.log(high - x), lambda x: 1 / (high - x), lambda y: high - np.exp(y)
        )
    return _Scale(float, lambda x: 1.0, float)

"""Page-Hinkley: a CUSUM of the values around their own mean so far, which needs no model.

Source: E. S. Page, 1954; D. V. Hinkley, 1971; the updates are those of river 0.26.1
(`drift.PageHinkley`), to the last alarm. With m_t the mean of the segment's values up to y_t,

    up_t = alpha up_{t-1} + y_t - m_t - delta,    down_t = alpha down_{t-1} + y_t - m_t + delta.

The statistic is the larger of up_t - min up and max down - down_t. An alarm is raised when it
passes the threshold; a new segment starts with the next value. delta and threshold have the unit of
the values, so that the scaling of a series is a part of the method. Predicts by the mean and the
variance of the segment, which river does not do. Knows: nothing.

State, [S, 1] each: mean, variance of the segment; variance_before, of the segment before; count and
squares, the centred sum; up, down; low, the least up, and high, the largest down (or -1, as river
starts it).
Info: see `online/charts.py`; alarm_statistic in the unit of the values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Interval
from numba import cfunc, njit

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Problem
from shiftbench.methods.online import charts
from shiftbench.methods.online.rows import STEP, RowLearner

FACTS = Facts(
    takes={"value": "gaussian", "design": "gaussian"},
    offers=("changes", "lineage", "alarm_statistic"),
)

HIGH = -1.0
"""The largest `down` before the first value."""


@dataclass(frozen=True)
class Settings:
    delta: Annotated[float, Ge(0)] = 0.005
    """Part of each deviation from the mean that counts as no change, in the unit of the values."""
    threshold: Annotated[float, Gt(0)] = 50.0
    """Sum of deviations above which an alarm is raised, in the unit of the values."""
    alpha: Annotated[float, Interval(gt=0, le=1)] = 0.9999
    """Share of the sums that is kept at each value."""
    direction: Literal["both", "up", "down"] = "both"
    """Whether the mean may rise, fall, or do either."""
    first: Annotated[int, Ge(2)] = 30
    """Number of the first value of a segment that may raise an alarm (river: min_instances)."""
    mean: float = 0.0
    """Predicted mean of the first value."""
    sd: Annotated[float, Gt(0)] = 1.0
    """Predicted standard deviation of the first values, a guess worth one value."""


def build(settings: Settings, problem: Problem, model: None = None) -> RowLearner:
    """Build the chart of a series of single values; LearnerError for several values a row."""
    variance = settings.sd**2
    start = {"mean": settings.mean, "variance": variance, "variance_before": variance}
    start |= dict.fromkeys(("count", "squares", "up", "down", "low"), 0.0) | {"high": HIGH}
    constants = [
        settings.delta,
        settings.threshold,
        settings.alpha,
        settings.direction != "down",
        settings.direction != "up",
        settings.first,
    ]
    return charts.learner("page-hinkley", problem, start, _step, _predict, constants)


@njit(cache=True, error_model="numpy", forceinline=True)
def _learn(numbers, delta, alpha, first, y):
    """Update mean, variance and sums of a segment by a value."""
    mean, _, before, count, squares, up, down, low, high = numbers[:9]
    count += 1.0
    error = y - mean if count > 1 else 0.0
    mean = mean + error / count if count > 1 else y
    squares += error * (y - mean)
    up = alpha * up + (y - mean) - delta
    down = alpha * down + (y - mean) + delta
    numbers[0], numbers[3], numbers[4] = mean, count, squares
    numbers[1] = charts.spread(count, squares, 1.0, first, before)
    numbers[5], numbers[6] = up, down
    numbers[7] = min(low, up) if count > 1 else up
    numbers[8] = max(high, down)


@cfunc(STEP, cache=True, error_model="numpy")
def _step(numbers, x, y, constants, scratch, evidence):
    """Update the charts with a row, in place."""
    delta, threshold, alpha, upwards, downwards, first = constants
    for h in range(len(numbers)):
        of = numbers[h]
        _learn(of, delta, alpha, first, y[0])
        if of[3] < first:
            continue
        up, down = of[5] - of[7], of[8] - of[6]
        statistic = max(up if upwards else 0.0, down if downwards else 0.0)
        alarm = statistic > threshold
        charts.record(of[9:], statistic, alarm)
        if alarm:
            of[0], of[2] = y[0], of[1]
            of[3:8] = 0.0
            of[8] = HIGH


@cfunc(STEP, cache=True, error_model="numpy")
def _predict(numbers, x, nothing, constants, scratch, out):
    """Set out to mean and variance of the next value, for each chart."""
    for h in range(len(numbers)):
        mean, variance, _, count = numbers[h, :4]
        out[2 * h] = mean
        out[2 * h + 1] = variance * (1.0 + 1.0 / max(count, 1.0))

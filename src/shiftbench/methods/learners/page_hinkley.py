"""Page-Hinkley: a CUSUM of the values around their own mean so far, which needs no model.

The updates are those of the detector of the same name (`detectors/page_hinkley.py`), to the last
alarm. With m the mean of the segment's values up to y,

    up <- alpha up + y - m - delta,  down <- alpha down + y - m + delta,
    statistic = max(up - min up, max down - down).

An alarm is raised when the statistic passes the threshold; a new segment starts with the next
value. delta and threshold have the unit of the values, so that the scaling of a series is a part of
the method. Predicts by the mean and the variance of the segment, which river does not do. Knows:
nothing.

While a segment is too short for alarms, the sums of the segment before go on. They raise no alarm,
but the statistic can rise further beyond the threshold. So a sweep over other thresholds
does not see a chart that has just been reset.

State, [S, 1] each: mean; count; up, down; low, the least up, and high, the largest down (or -1, as
river starts it); watched_...: the same of the segment before (count 0: none); variance of the
segment, and variance_before, of the segment before; squares, the centred sum.
Info: see `online/charts.py`; alarm_statistic in the unit of the values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Interval
from numba import cfunc

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Problem
from shiftbench.methods.detectors.page_hinkley import HIGH, add
from shiftbench.methods.online import charts
from shiftbench.methods.online.rows import STEP, RowLearner

FACTS = Facts(
    takes={"value": "gaussian", "design": "gaussian"},
    offers=("changes", "lineage", "alarm_statistic"),
)


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
    sums = {"mean": settings.mean, "count": 0.0, "up": 0.0, "down": 0.0, "low": 0.0, "high": HIGH}
    watched = {f"watched_{name}": value for name, value in sums.items()}
    variance = settings.sd**2
    start = sums | watched | {"variance": variance, "variance_before": variance, "squares": 0.0}
    constants = [
        settings.delta,
        settings.threshold,
        settings.alpha,
        settings.direction != "down",
        settings.direction != "up",
        settings.first,
    ]
    return charts.learner("page-hinkley", problem, start, _step, _predict, constants)


@cfunc(STEP, cache=True, error_model="numpy")
def _step(numbers, x, y, constants, scratch, evidence):
    """Update the charts with a row, in place."""
    threshold, first = constants[1], constants[5]
    for h in range(len(numbers)):
        sums, watched, noise = numbers[h, :6], numbers[h, 6:12], numbers[h, 12:15]
        error = y[0] - sums[0] if sums[1] > 0.0 else 0.0
        statistic = add(sums, constants, y[0])
        noise[2] += error * (y[0] - sums[0])
        noise[0] = charts.spread(sums[1], noise[2], 1.0, first, noise[1])
        if sums[1] < first:
            statistic = add(watched, constants, y[0]) if watched[1] > 0.0 else 0.0
        alarm = sums[1] >= first and statistic > threshold
        charts.record(numbers[h, 15:], statistic, alarm)
        if alarm:
            watched[:] = sums
            sums[0], sums[5] = y[0], HIGH
            sums[1:5] = 0.0
            noise[1], noise[2] = noise[0], 0.0


@cfunc(STEP, cache=True, error_model="numpy")
def _predict(numbers, x, nothing, constants, scratch, out):
    """Set out to mean and variance of the next value, for each chart."""
    for h in range(len(numbers)):
        out[2 * h] = numbers[h, 0]
        out[2 * h + 1] = numbers[h, 12] * (1.0 + 1.0 / max(numbers[h, 1], 1.0))

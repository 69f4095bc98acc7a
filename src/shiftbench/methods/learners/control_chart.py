"""Control charts: CUSUM, Shiryaev-Roberts and Shewhart, by likelihood ratios of two models.

With l_t the log likelihood ratio of value t, after the change against before it, and Q_0 = 0,

    statistic_t = Q_{t-1} + l_t,    Q_t = f(statistic_t):

- cusum: f(s) = max(0, s). The statistic is the largest sum of l over all starts up to t (E. S.
  Page, 1954). In one direction, no detector with as many values between false alarms has a smaller
  delay in the worst case (G. Lorden, 1971; G. V. Moustakides, 1986).
- shiryaev-roberts: f(s) = log(1 + e^s). The statistic is the log of the sum of likelihood ratios
  over all starts (S. W. Roberts, 1966; M. Pollak, 1985), the limit of Bayes' rule for rare changes.
  Its mean number of values to a false alarm is at least e^threshold.
- shewhart: f(s) = 0. The statistic is that of the last value alone (W. A. Shewhart, 1931). For a
  mean, a limit of k standard deviations is the same as `threshold` = size (k - size / 2).

An alarm is raised when the statistic reaches the threshold; a new segment starts with this value.
The model before the change is Gaussian: y_t = level + slope (y_{t-1} - level) + noise, where the
slope is 0 unless `detects` is the coefficient. In the model after the change one parameter is
different, by `size`. With `direction: both` each direction has its own Q, and the statistic is the
larger one, or for Shiryaev-Roberts the log of the mean ratio. Knows: kind and size of the change,
and with `first: 0` the model before it.

The first values of a segment, which give its model, are still compared with the model before the
alarm. They raise no alarm, but the statistic can rise further beyond the threshold. So a sweep
over other thresholds does not see a chart that has just been reset.

State, [S, 1] each: level, slope, variance of the segment so far; variance_before, of the segment
before; count of the values that made them; last value; mean_last, squares_last, products, squares:
mean and centred sums over pairs of a last value and a value; watched_level, watched_slope,
watched_variance: the model before the change (variance 0: none yet); up, down: Q of both
directions.
Info: see `online/charts.py`; alarm_statistic in nats.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

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

Statistic = Literal["shewhart", "cusum", "shiryaev-roberts"]
Change = Literal["mean", "variance", "coefficient"]
SHIRYAEV_ROBERTS = get_args(Statistic).index("shiryaev-roberts")
CUSUM = get_args(Statistic).index("cusum")
VARIANCE, COEFFICIENT = (get_args(Change).index(kind) for kind in ("variance", "coefficient"))


@dataclass(frozen=True)
class Settings:
    statistic: Statistic = "cusum"
    """Starts of the new segment that the statistic allows for. shewhart: the last value only.
    cusum: the most likely start. shiryaev-roberts: all starts."""
    detects: Change = "mean"
    """Parameter that may change. mean: that of the values, which are independent. variance: that of
    their noise. coefficient: that of the last value, in an autoregression."""
    size: Annotated[float, Gt(0)] = 1.0
    """Change that the chart is tuned for: of the mean in standard deviations, of the coefficient as
    a difference, of the variance as a factor above 1 (its inverse for a fall)."""
    direction: Literal["both", "up", "down"] = "both"
    """Whether the parameter may rise, fall, or do either."""
    threshold: Annotated[float, Gt(0)] = 5.0
    """Log likelihood ratio, in nats, at which an alarm is raised."""
    first: Annotated[int, Ge(0)] = 50
    """Number of values at the start of a segment that give its model; they raise no alarm. 0: the
    model is `mean`, `sd` and `coefficient` in every segment."""
    mean: float = 0.0
    """Mean of the values before the change. If `first` is above 0, it is only the prediction of the
    first value."""
    sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation of the noise before the change. If `first` is above 0, it is only a guess
    that counts as one value and has no effect on alarms."""
    coefficient: Annotated[float, Interval(gt=-1, lt=1)] = 0.0
    """Coefficient of the last value before the change, if `detects` is the coefficient."""


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings exclude each other, with its remedy."""
    if settings.detects == "variance" and settings.size <= 1:
        yield f"size is a factor of the variance and must be above 1, not {settings.size:g}"
    if settings.first in (1, 2):
        yield (
            f"first: {settings.first} values give no model with a coefficient and a variance; write"
            " at least 3, or 0 where mean and sd are known"
        )


def build(settings: Settings, problem: Problem, model: None = None) -> RowLearner:
    """Build the chart of a series of single values; LearnerError for several values a row."""
    slope = settings.coefficient if settings.detects == "coefficient" else 0.0
    start = {
        "level": settings.mean,
        "slope": slope,
        "variance": settings.sd**2,
        "variance_before": settings.sd**2,
        "count": 0.0,
        "last": settings.mean,
    }
    start |= dict.fromkeys(("mean_last", "squares_last", "products", "squares"), 0.0)
    start |= {
        "watched_level": settings.mean,
        "watched_slope": slope,
        "watched_variance": 0.0 if settings.first else settings.sd**2,
        "up": 0.0,
        "down": 0.0,
    }
    constants = [
        get_args(Statistic).index(settings.statistic),
        get_args(Change).index(settings.detects),
        settings.size,
        settings.direction != "down",
        settings.direction != "up",
        settings.threshold,
        settings.first,
    ]
    return charts.learner("control-chart", problem, start, _step, _predict, constants)


@njit(cache=True, error_model="numpy", forceinline=True)
def _ratios(detects, size, level, slope, variance, last, y):
    """Return the log likelihood ratios of a value for the change up and the change down."""
    residual = y - level - slope * (last - level)
    if detects == VARIANCE:
        squared, log_size = residual * residual / variance, math.log(size)
        up = 0.5 * (squared * (1.0 - 1.0 / size) - log_size)
        return up, 0.5 * (squared * (1.0 - size) + log_size)
    # Both others move the mean of this value, by so many standard deviations.
    sd = math.sqrt(variance)
    moved = size * (last - level) / sd if detects == COEFFICIENT else size
    linear, constant = moved * residual / sd, 0.5 * moved * moved
    return linear - constant, -linear - constant


@njit(cache=True, error_model="numpy", forceinline=True)
def _log_of_sum(a, b):
    """Return log(e^a + e^b)."""
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


@njit(cache=True, error_model="numpy", forceinline=True)
def _kept(kind, statistic):
    """Return Q after a value."""
    if kind == SHIRYAEV_ROBERTS:
        return _log_of_sum(0.0, statistic)
    return max(0.0, statistic) if kind == CUSUM else 0.0


@njit(cache=True, error_model="numpy", forceinline=True)
def _learn(numbers, detects, first, y):
    """Update the model of the segment by a value."""
    level, _, _, before, count, last, mean_last, squares_last, products, squares = numbers[:10]
    count += 1.0
    error, error_last = y - level if count > 1 else 0.0, last - mean_last
    level = level + error / count if count > 1 else y
    mean_last += error_last / count
    squares += error * (y - level)
    squares_last += error_last * (last - mean_last)
    products += error_last * (y - level)
    slope = 0.0
    if detects == COEFFICIENT and squares_last > 0:
        slope = products / squares_last
    fitted = 2.0 if detects == COEFFICIENT else 1.0
    numbers[0], numbers[1], numbers[4] = level, slope, count
    numbers[2] = charts.spread(count, squares - slope * products, fitted, first, before)
    numbers[6], numbers[7], numbers[8], numbers[9] = mean_last, squares_last, products, squares


@njit(cache=True, error_model="numpy", forceinline=True)
def _watch(numbers, constants, y):
    """Update both Q by a value; return the statistic."""
    kind, detects, size, upwards, downwards = constants[:5]
    level, slope, variance, up, down = numbers[10:15]
    by_up, by_down = _ratios(detects, size, level, slope, variance, numbers[5], y)
    up, down = up + by_up, down + by_down
    numbers[13], numbers[14] = _kept(kind, up), _kept(kind, down)
    if not (upwards and downwards):
        return up if upwards else down
    if kind == SHIRYAEV_ROBERTS:
        return _log_of_sum(up, down) - math.log(2.0)
    return max(up, down)


@cfunc(STEP, cache=True, error_model="numpy")
def _step(numbers, x, y, constants, scratch, evidence):
    """Update the charts with a row, in place."""
    threshold, first = constants[5], constants[6]
    for h in range(len(numbers)):
        of, sums = numbers[h, :15], numbers[h, 15:]
        if of[12] > 0.0:
            statistic = _watch(of, constants, y[0])
            alarm = of[4] >= first and statistic >= threshold
            charts.record(sums, statistic, alarm)
            if alarm and first > 0.0:
                of[3], of[4] = of[2], 0.0
                of[6:10] = 0.0
            elif alarm:
                of[13:15] = 0.0
        if of[4] < first:
            _learn(of, constants[1], first, y[0])
            if of[4] == first:
                of[10:13] = of[:3]
                of[13:15] = 0.0
        of[5] = y[0]


@cfunc(STEP, cache=True, error_model="numpy")
def _predict(numbers, x, nothing, constants, scratch, out):
    """Set out to mean and variance of the next value, for each chart."""
    is_known = constants[6] == 0.0
    for h in range(len(numbers)):
        level, slope, variance, _, count, last = numbers[h, :6]
        out[2 * h] = level + slope * (last - level)
        out[2 * h + 1] = variance * (1.0 if is_known else 1.0 + 1.0 / max(count, 1.0))

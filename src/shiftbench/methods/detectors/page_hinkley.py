"""Page-Hinkley: a CUSUM of the values around their own mean so far, which needs no model.

Source: E. S. Page, 1954; D. V. Hinkley, 1971; the updates are those of river 0.26.1
(`drift.PageHinkley`). With m_t the mean of the values up to y_t,

    up_t = alpha up_{t-1} + y_t - m_t - delta,    down_t = alpha down_{t-1} + y_t - m_t + delta.

The statistic is the larger of up_t - min up and max down - down_t, and 0 while there are fewer than
`first` values. It has the unit of the values, as threshold and delta do.

Numbers: mean, count, up, down; low, the least up, and high, the largest down, or -1, as river
starts it.
"""

from __future__ import annotations

import numpy as np
from numba import cfunc, njit

from shiftbench.methods.detectors.detector import UPDATE, Detector, Direction, numbers_of

HIGH = -1.0
"""The largest `down` before the first value."""
THRESHOLD, DELTA, ALPHA, FIRST = 50.0, 0.005, 0.9999, 30
"""Defaults of river."""


def build(
    threshold: float = THRESHOLD,
    delta: float = DELTA,
    alpha: float = ALPHA,
    first: int = FIRST,
    direction: Direction = "both",
) -> Detector:
    """Build the detector; alarms begin with value number `first`."""
    start = numbers_of(mean=0, count=0, up=0, down=0, low=0, high=HIGH)
    constants = np.array([delta, threshold, alpha, 1, direction == "both", first], float)
    return Detector(start, _update, constants, threshold)


@njit(cache=True, error_model="numpy", forceinline=True)
def add(sums, constants, y):
    """Update mean and sums by a value, in place; return the statistic.

    constants: delta, threshold, alpha, whether a rise counts, whether a fall does, first.
    """
    delta, _, alpha, upwards, downwards, _ = constants
    mean, count, up, down, low, high = sums
    count += 1.0
    mean = mean + (y - mean) / count if count > 1.0 else y
    up = alpha * up + (y - mean) - delta
    down = alpha * down + (y - mean) + delta
    low, high = min(low, up) if count > 1.0 else up, max(high, down)
    sums[0], sums[1], sums[2], sums[3], sums[4], sums[5] = mean, count, up, down, low, high
    return max(up - low if upwards else 0.0, high - down if downwards else 0.0)


@cfunc(UPDATE, cache=True, error_model="numpy")
def _update(numbers, value, constants):
    """Add a value."""
    statistic = add(numbers, constants, value)
    return statistic if numbers[1] >= constants[5] else 0.0

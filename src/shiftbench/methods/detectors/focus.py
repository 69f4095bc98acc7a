"""FOCuS: the likelihood ratio of a change of the mean, the largest over all places of the change.

Source: G. Romano, I. Eckley, P. Fearnhead and G. Rigaill, 2023 (Gaussian); K. Ward, G. Romano, I.
Eckley and P. Fearnhead, 2024 (exponential families). With S_t the sum of the first t values, and
h(n, S) the maximum of the log likelihood of n values with sum S, up to what does not depend on the
mean, the statistic is

    max over t < n of h(t, S_t) + h(n - t, S_n - S_t) - h(n, S_n), in nats,

- gaussian, variance 1: h = S^2 / (2 n). It depends on differences of values alone, and S is the sum
  of differences from the first value, as squares of large sums would cancel.
- gaussian-zero, variance 1 and mean 0 before the change: h(t, S_t) and h(n, S_n) are 0.
- bernoulli: h = n (p log p + (1 - p) log(1 - p)), p = S / n.

The sum is convex in (t, S_t). So the best t is a corner of the convex hull of these points, one
chain of which has the changes up and one those down. Of n values about log n are corners of each.
A chain has room for CORNERS; where one more is needed, the flattest corner is dropped. Then, and
only then, is the statistic a lower bound. Tests have it against all t.

A chain is searched before the new point is on it, so its last corner is t = n - 1, whatever the new
value is. With direction up, a change counts only if the mean after it is above the mean before it.

Numbers: count n, total S_n; change, the best t, at which the new segment starts; origin, the first
value if the family is gaussian, else 0; sizes [2], the corners of each chain; places, sums [2,
CORNERS], their t and S_t.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
from numba import cfunc, njit

from shiftbench.methods.detectors.detector import UPDATE, Detector, Direction, numbers_of

Family = Literal["gaussian", "gaussian-zero", "bernoulli"]
GAUSSIAN, ZERO, BERNOULLI = range(3)
"""Numbers of the families, in the order of `Family`."""
CORNERS = 64
THRESHOLD = 10.0


def build(
    threshold: float = THRESHOLD, family: Family = "gaussian", direction: Direction = "both"
) -> Detector:
    """Build the detector of a family."""
    corners = np.zeros((2, CORNERS))  # the first corner of both is (0, 0)
    start = numbers_of(
        count=0, total=0, change=0, origin=0, sizes=np.ones(2), places=corners, sums=corners
    )
    constants = np.array([get_args(Family).index(family), 1 + (direction == "both")], float)
    return Detector(start, _update, constants, threshold)


@njit(cache=True, error_model="numpy", forceinline=True)
def _x_log_x(x):
    return x * math.log(x) if x > 0.0 else 0.0


@njit(cache=True, error_model="numpy", forceinline=True)
def _maximum(family, n, total):
    """Return h(n, S)."""
    if n == 0.0:
        return 0.0
    if family != BERNOULLI:
        return 0.5 * total * total / n
    p = total / n
    return n * (_x_log_x(p) + _x_log_x(1.0 - p))


@njit(cache=True, error_model="numpy", forceinline=True)
def _rises(family, n, total, t, before):
    """Return whether the mean after t is above the mean before it; `before` is S_t."""
    if family == ZERO:
        return total > before
    return t > 0.0 and (total - before) / (n - t) > before / t


@njit(cache=True, error_model="numpy", forceinline=True)
def _best(family, rises, n, total, places, sums, size):
    """Return the largest statistic of the corners of a chain, and its t; rises: of rises alone."""
    most, at = 0.0, 0.0
    whole = 0.0 if family == ZERO else _maximum(family, n, total)
    for i in range(size):
        if rises and not _rises(family, n, total, places[i], sums[i]):
            continue
        before = 0.0 if family == ZERO else _maximum(family, places[i], sums[i])
        ratio = before + _maximum(family, n - places[i], total - sums[i]) - whole
        if ratio > most:
            most, at = ratio, places[i]
    return most, at


@njit(cache=True, error_model="numpy", forceinline=True)
def _slope(places, sums, i, t, total):
    """Return the slope from corner i to a point."""
    return (total - sums[i]) / (t - places[i])


@njit(cache=True, error_model="numpy", forceinline=True)
def _drop_flattest(places, sums, size):
    """Drop the corner, neither first nor last, at which the slope changes least."""
    flattest, least = 1, np.inf
    for i in range(1, size - 1):
        before = _slope(places, sums, i - 1, places[i], sums[i])
        after = _slope(places, sums, i, places[i + 1], sums[i + 1])
        if abs(after - before) < least:
            flattest, least = i, abs(after - before)
    for i in range(flattest, size - 1):
        places[i], sums[i] = places[i + 1], sums[i + 1]


@njit(cache=True, error_model="numpy", forceinline=True)
def _append(places, sums, size, t, total, sign):
    """Append the point (t, S_t) to the chain whose slopes rise (sign 1) or fall (-1).

    Returns the number of corners. A corner between the new point and the one before it goes.
    """
    while size > 1:
        to_last = _slope(places, sums, size - 2, places[size - 1], sums[size - 1])
        if sign * to_last < sign * _slope(places, sums, size - 1, t, total):
            break
        size -= 1
    if size == CORNERS:
        _drop_flattest(places, sums, size)
        size -= 1
    places[size], sums[size] = t, total
    return size + 1


@cfunc(UPDATE, cache=True, error_model="numpy")
def _update(numbers, value, constants):
    """Add a value."""
    family, sides, corners = int(constants[0]), int(constants[1]), numbers[6:]
    if family == GAUSSIAN and numbers[0] == 0.0:
        numbers[3] = value
    numbers[0] += 1.0
    numbers[1] += value - numbers[3]
    n, total, statistic = numbers[0], numbers[1], 0.0
    for side in range(sides):
        size = int(numbers[4 + side])
        places = corners[side * CORNERS : (side + 1) * CORNERS]
        sums = corners[(2 + side) * CORNERS : (3 + side) * CORNERS]
        most, at = _best(family, sides == 1, n, total, places, sums, size)
        if most > statistic or side == 0:
            statistic, numbers[2] = most, at
        numbers[4 + side] = _append(places, sums, size, n, total, 1.0 - 2.0 * side)
    return statistic

"""Optimal segmentation of single values with the biweight loss, by functional pruning (R-FPOP).

A segment of level mu costs the sum of min((y - mu)^2, K^2) over its values, and every segment but
the first a penalty. Source: P. Fearnhead and G. Rigaill (2019), algorithm 1. With Q_t(mu) the
lowest cost of the first t values if the last segment has level mu,

    Q_t(mu) = min(Q_t-1(mu), min Q_t-1 + penalty) + min((y_t - mu)^2, K^2).

Q_t is kept exactly, in pieces of quadratics, so no segmentation is left out. A piece is (right
edge, a, b, c, start): a mu^2 + b mu + c up to its edge, reached by a last segment that begins with
value number `start`. Compiled; values should be of the order of 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

PIECES = 500
"""The most pieces; the 4050 values of the well-log need at most 62, for penalties of 2 to 16 log
n."""
EDGE = 1e300
"""Right edge of the last piece, in place of infinity."""


class Best(NamedTuple):
    """The lowest cost, the level that has it, and the first value of its last segment."""

    cost: float
    level: float
    start: int


@njit(cache=True, error_model="numpy")
def best(pieces, count):
    """Return the lowest cost over all levels, from the `count` pieces [PIECES, 5]."""
    lowest, level, start, left = np.inf, 0.0, 0, -EDGE
    for i in range(count):
        right, a, b, c = pieces[i, 0], pieces[i, 1], pieces[i, 2], pieces[i, 3]
        at = min(max(-0.5 * b / a if a > 0 else 0.0, left), right)
        cost = (a * at + b) * at + c if a > 0 else c
        if cost < lowest:
            lowest, level, start = cost, at, int(pieces[i, 4])
        left = right
    return Best(lowest, level, start)


@njit(cache=True, error_model="numpy")
def add(pieces, count, y, number, threshold, penalty, work):
    """Turn Q_t-1 into Q_t by the value y, number t from 0; return the new count of pieces.

    work [PIECES, 5] is overwritten. Returns -1 where there is no room.
    """
    if number == 0:
        work[0] = np.array([EDGE, 0.0, 0.0, 0.0, 0.0])
        capped = np.int64(1)
    else:
        capped = _cap(pieces, count, best(pieces, count).cost + penalty, number, work)
    return _with_loss(work, capped, y, threshold, pieces)


@njit(cache=True, error_model="numpy")
def _put(pieces, count, right, a, b, c, start):
    """Append a piece, or extend the last one if it is the same; return the count, -1 if full."""
    if count < 0 or count == len(pieces):
        return -1
    if count > 0:
        left = pieces[count - 1, 0]
        if right <= left:
            return count
        same = pieces[count - 1, 1] == a and pieces[count - 1, 2] == b
        if same and pieces[count - 1, 3] == c and pieces[count - 1, 4] == start:
            pieces[count - 1, 0] = right
            return count
    pieces[count, 0], pieces[count, 1], pieces[count, 2] = right, a, b
    pieces[count, 3], pieces[count, 4] = c, start
    return count + 1


@njit(cache=True, error_model="numpy")
def _cap(pieces, count, level, number, capped):
    """Set capped to min(pieces, level), where `level` is a segment that begins with this value."""
    size, left, new = np.int64(0), -EDGE, float(number)
    for i in range(count):
        right, a, b, c, start = pieces[i]
        low, high = left, right  # between these the piece is at most `level`
        if a > 0:
            square = b * b - 4 * a * (c - level)
            half = math.sqrt(max(square, 0.0)) / (2 * a)
            low, high = max(left, -0.5 * b / a - half), min(right, -0.5 * b / a + half)
        if low >= high or (a == 0 and c > level):
            size = _put(capped, size, right, 0.0, 0.0, level, new)
        else:
            if low > left:
                size = _put(capped, size, low, 0.0, 0.0, level, new)
            size = _put(capped, size, high, a, b, c, start)
            if high < right:
                size = _put(capped, size, right, 0.0, 0.0, level, new)
        left = right
    return size


@njit(cache=True, error_model="numpy")
def _with_loss(pieces, count, y, threshold, total):
    """Set total to the pieces plus the loss of y; return the count of its pieces."""
    size, left, square = np.int64(0), -EDGE, threshold * threshold
    near, far = y - threshold, y + threshold
    for i in range(count):
        right, a, b, c, start = pieces[i]
        if left < near:
            size = _put(total, size, min(right, near), a, b, c + square, start)
        if left < far and right > near:
            inside = a + 1.0, b - 2.0 * y, c + y * y
            size = _put(total, size, min(right, far), inside[0], inside[1], inside[2], start)
        if right > far:
            size = _put(total, size, right, a, b, c + square, start)
        left = right
    return size


@njit(cache=True, error_model="numpy")
def scale_of(values):
    """Return a robust standard deviation of the noise of values [n], n >= 2, with jumps.

    The median absolute deviation of differences, as the authors' code (package robseg); where it
    is 0 the standard deviation of the differences, and 1 where all values are equal.
    """
    steps = np.diff(values) / math.sqrt(2.0)
    scale = 1.4826 * np.median(np.abs(steps - np.median(steps)))
    if scale == 0:
        scale = np.sqrt((steps * steps).mean())
    return scale if scale > 0 else 1.0


@njit(cache=True, error_model="numpy")
def segment(values, threshold, penalty, starts):
    """Segment values [n], n >= 1; return the `Best` segmentation of all of them.

    Sets starts [n] to the first value of the last segment of the best segmentation of each initial
    part. A start of -1 is returned where there is no room for the pieces.
    """
    pieces, work, count = np.empty((PIECES, 5)), np.empty((PIECES, 5)), np.int64(0)
    found = Best(0.0, 0.0, 0)
    for t in range(len(values)):
        count = add(pieces, count, values[t], t, threshold, penalty, work)
        if count < 0:
            return Best(np.inf, 0.0, -1)
        found = best(pieces, count)
        starts[t] = found.start
    return found


def changes(starts: np.ndarray) -> list[int]:
    """Return the first values of all segments but the first, the last one first; see `segment`."""
    found, end = [], len(starts)
    while end > 0 and starts[end - 1] > 0:
        end = int(starts[end - 1])
        found.append(end)
    return found

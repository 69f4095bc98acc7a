"""ADWIN: an adaptive window that compares the means of its two parts at every cut.

Source: A. Bifet and R. Gavalda, 2007 (ADWIN2); the updates are those of river 0.26.1, up to the
alarm. The window is a row of buckets: those of level r hold 2^r values, of which sum and centred
squares are known. A level has at most BUCKETS of them; of one more, the oldest two become one of
the next level. Where the last level has no room, the window forgets its oldest bucket. At every
`clock`-th value the window of W values is cut after each bucket into n0 older and n1 newer ones, at
least LEAST each. With V / W the variance and q = 1 / (n0 - LEAST + 1) + 1 / (n1 - LEAST + 1), a cut
tells with confidence 1 - delta that the mean has changed if

    |mean0 - mean1| > sqrt(2 q d V / W) + 2/3 q d,    d = log(2 log W / delta).

The statistic is the largest log(1 / delta), in nats, for which a cut tells so, and 0 between two
such values. The threshold of river, delta = .002, is 6.2.

river drops the oldest buckets at an alarm, and then all of them before the next value. Here the
alarm drops all at once, which leaves the same alarms.

Numbers: sums, squares [LEVELS, BUCKETS + 1], oldest first; sizes [LEVELS], how many buckets a level
has; width W, total, spread V; ticks, values so far.
"""

from __future__ import annotations

import math

import numpy as np
from numba import cfunc, njit

from shiftbench.methods.detectors.detector import UPDATE, Detector, Direction, numbers_of

THRESHOLD, CLOCK = -math.log(0.002), 32
LEVELS, BUCKETS = 20, 5
ROOM = LEVELS * (BUCKETS + 1)
LEAST, SHORTEST = 5, 10
"""Fewest values of a part; widest window that is not cut."""


def build(
    threshold: float = THRESHOLD, clock: int = CLOCK, direction: Direction = "both"
) -> Detector:
    """Build the detector; clock: values from one comparison to the next."""
    buckets = np.zeros((LEVELS, BUCKETS + 1))
    of_window = {"width": 0, "total": 0, "spread": 0, "ticks": 0}
    start = numbers_of(sums=buckets, squares=buckets, sizes=np.zeros(LEVELS), **of_window)
    return Detector(start, _update, np.array([clock, direction == "both"], float), threshold)


@njit(cache=True, error_model="numpy", forceinline=True)
def _merge(sums, squares, sizes, window):
    """Merge the two oldest buckets of each level that has one too many, from the newest level."""
    for level in range(LEVELS - 1):
        if sizes[level] <= BUCKETS:
            return
        if level == LEVELS - 2 and sizes[level + 1] > BUCKETS:
            _forget(sums, squares, sizes, window)
        first, held = level * (BUCKETS + 1), 2.0**level
        apart = (sums[first] - sums[first + 1]) / held
        to = first + BUCKETS + 1 + int(sizes[level + 1])
        sums[to] = sums[first] + sums[first + 1]
        squares[to] = squares[first] + squares[first + 1] + 0.5 * held * apart * apart
        sizes[level + 1] += 1.0
        for j in range(first, first + BUCKETS - 1):
            sums[j], squares[j] = sums[j + 2], squares[j + 2]
        sums[first + BUCKETS - 1 : first + BUCKETS + 1] = 0.0
        squares[first + BUCKETS - 1 : first + BUCKETS + 1] = 0.0
        sizes[level] -= 2.0


@njit(cache=True, error_model="numpy", forceinline=True)
def _forget(sums, squares, sizes, window):
    """Take the oldest bucket of the last level out of the window."""
    first, held = ROOM - BUCKETS - 1, 2.0 ** (LEVELS - 1)
    width, total = window[0] - held, window[1] - sums[first]
    apart = sums[first] / held - total / width
    window[2] -= squares[first] + held * width / window[0] * apart * apart
    window[0], window[1] = width, total
    for j in range(first, first + BUCKETS):
        sums[j], squares[j] = sums[j + 1], squares[j + 1]
    sums[first + BUCKETS], squares[first + BUCKETS] = 0.0, 0.0
    sizes[LEVELS - 1] -= 1.0


@njit(cache=True, error_model="numpy", forceinline=True)
def _confidence(difference, q, variance):
    """Return the largest d for which the difference of means is above its bound."""
    linear, square = math.sqrt(2.0 * q * variance), 2.0 / 3.0 * q
    root = 2.0 * difference / (linear + math.sqrt(linear * linear + 4.0 * square * difference))
    return root * root


@njit(cache=True, error_model="numpy", forceinline=True)
def _most_telling(sums, sizes, width, total, variance, both):
    """Return the largest d of all cuts, or 0 without cuts."""
    n0, sum0, most = 0.0, 0.0, 0.0
    for level in range(LEVELS - 1, -1, -1):
        for j in range(int(sizes[level])):
            n0 += 2.0**level
            sum0 += sums[level * (BUCKETS + 1) + j]
            n1 = width - n0
            if n1 < LEAST:
                return most
            if n0 >= LEAST:
                difference = (total - sum0) / n1 - sum0 / n0
                difference = abs(difference) if both else difference
                if difference > 0.0:
                    q = 1.0 / (n0 - LEAST + 1.0) + 1.0 / (n1 - LEAST + 1.0)
                    most = max(most, _confidence(difference, q, variance))
    return most


@cfunc(UPDATE, cache=True, error_model="numpy")
def _update(numbers, value, constants):
    """Add a value, and compare the parts of the window if it is time."""
    sums, squares = numbers[:ROOM], numbers[ROOM : 2 * ROOM]
    sizes, window = numbers[2 * ROOM : 2 * ROOM + LEVELS], numbers[2 * ROOM + LEVELS :]
    sums[int(sizes[0])], squares[int(sizes[0])] = value, 0.0
    sizes[0] += 1.0
    window[0] += 1.0
    width, total = window[0], window[1]
    if width > 1.0:
        apart = value - total / (width - 1.0)
        window[2] += (width - 1.0) * apart * apart / width
    window[1] = total + value
    window[3] += 1.0
    _merge(sums, squares, sizes, window)
    width = window[0]
    if window[3] % constants[0] > 0.0 or width <= SHORTEST:
        return 0.0
    variance, both = window[2] / width, constants[1] > 0.0
    most = _most_telling(sums, sizes, width, window[1], variance, both)
    return max(most - math.log(2.0 * math.log(width)), 0.0)

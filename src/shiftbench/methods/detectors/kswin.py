"""KSWIN: a Kolmogorov-Smirnov test of the newest values against older ones of a window.

Source: C. Raab, M. Heusinger and F.-M. Schleif, 2020. The test compares the RECENT newest of the
last WINDOW values with the same number of values drawn from the others without replacement. The
statistic is the largest difference D of the two distribution functions, or 0 while there are fewer
than WINDOW values. river 0.26.1 raises an alarm at p <= .005, which means D >= 14/30
(p = .0025; at 13/30 it is .0066).

Numbers: key, drawn (see `detector.KEY`); count; window, a ring of the last values.
"""

from __future__ import annotations

import numpy as np
from numba import cfunc, njit

from shiftbench.methods.detectors import draws
from shiftbench.methods.detectors.detector import KEPT, KEY, UPDATE, Detector, numbers_of

WINDOW, RECENT = 100, 30
THRESHOLD = 0.45
"""Between 13/30 and 14/30."""


def build(threshold: float = THRESHOLD) -> Detector:
    """Build the detector."""
    key = {name: np.zeros(shape) for name, shape in KEY.items()}
    start = key | numbers_of(count=0, window=np.zeros(WINDOW))
    return Detector(start, _update, np.empty(0), threshold, draws=True)


@njit(cache=True, error_model="numpy")
def drawn_from(values, size, begin):
    """Return `size` of the values, drawn without replacement, in the order of the draws."""
    left = values.copy()
    for i in range(size):
        other = i + int(draws.uniform(begin, i) * (len(left) - i))
        left[i], left[other] = left[other], left[i]
    return left[:size]


@njit(cache=True, error_model="numpy")
def distance(one, two):
    """Return the largest difference of the distribution functions of two samples."""
    one, two = np.sort(one), np.sort(two)
    i, j, most = 0, 0, 0.0
    while i < len(one) and j < len(two):
        at = min(one[i], two[j])
        while i < len(one) and one[i] <= at:
            i += 1
        while j < len(two) and two[j] <= at:
            j += 1
        most = max(most, abs(i / len(one) - j / len(two)))
    return most


@cfunc(UPDATE, cache=True, error_model="numpy")
def _update(numbers, value, constants):
    """Add a value, and test if the window is full."""
    count, window = numbers[KEPT], numbers[KEPT + 1 :]
    window[int(count) % WINDOW] = value
    numbers[KEPT] = count = count + 1.0
    if count < WINDOW:
        return 0.0
    begin = draws.start(numbers[:2], numbers[2])
    numbers[2] += 1.0
    in_order, oldest = np.empty(WINDOW), int(count) % WINDOW
    for i in range(WINDOW):
        in_order[i] = window[(oldest + i) % WINDOW]
    older = drawn_from(in_order[: WINDOW - RECENT], np.int64(RECENT), begin)
    return distance(older, in_order[WINDOW - RECENT :])

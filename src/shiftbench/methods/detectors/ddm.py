"""DDM, the drift detection method: a rise of the error rate above its least value so far.

Source: J. Gama, P. Medas, G. Castillo and P. Rodrigues, 2004. p is the share of errors so far, s =
sqrt(p (1 - p) / n); (p, s) is noted where p + s is least. The statistic is the number of noted s by
which p + s is above the noted p; the paper warns at 2 and has an alarm at 3. Values are 0 or 1.
There is no statistic while there are at most `first` values. Where the noted s is 0, as after a
segment without an error, any later error has the statistic CERTAIN.

Numbers: count, p, least_p, least_s.
"""

from __future__ import annotations

import math

import numpy as np
from numba import cfunc

from shiftbench.methods.detectors.detector import UPDATE, Detector, numbers_of

THRESHOLD, FIRST = 3.0, 30
CERTAIN = 1e9


def build(threshold: float = THRESHOLD, first: int = FIRST) -> Detector:
    """Build the detector; it has no statistic up to value number `first`."""
    # Above the largest p and s, 1 and 1/2, and finite, as a state has to be.
    start = numbers_of(count=0, p=0, least_p=1, least_s=1)
    return Detector(start, _update, np.array([first], float), threshold)


@cfunc(UPDATE, cache=True, error_model="numpy")
def _update(numbers, value, constants):
    """Add an error, 1, or a success, 0."""
    numbers[0] += 1.0
    numbers[1] += (value - numbers[1]) / numbers[0]
    n, p, least_p, least_s = numbers
    if n <= constants[0]:
        return 0.0
    s = math.sqrt(p * (1.0 - p) / n)
    if p + s <= least_p + least_s:
        numbers[2], numbers[3] = least_p, least_s = p, s
    above = p + s - least_p
    if least_s > 0.0:
        return above / least_s
    return CERTAIN if above > 0.0 else 0.0

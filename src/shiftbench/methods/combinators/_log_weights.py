"""Log weights of hypotheses, in compiled code."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True, error_model="numpy")
def relate_to_largest(log_weight):
    """Subtract the largest weight, in place; leave them if all are -inf."""
    largest = log_weight.max()
    if largest > -np.inf:
        log_weight -= largest


@njit(cache=True, error_model="numpy")
def normalise(log_weight):
    """Subtract the log of the sum of all weights, in place; leave them if all are -inf."""
    largest, total = log_weight.max(), 0.0
    if largest == -np.inf:
        return
    for one in log_weight:
        total += math.exp(one - largest)
    log_weight -= largest + math.log(total)

"""A conformal test martingale, the simple jumper: a bet that values are not exchangeable.

Source: V. Vovk, I. Petej, I. Nouretdinov, E. Ahlberg, L. Carlsson and A. Gammerman, 2021 (arXiv
2102.10439). The p-value of value n is its rank among the values so far,

    p_n = (#{i: a_i > a_n} + theta_n #{i: a_i = a_n}) / n,

theta_n uniform. Three experts bet on small, no and large p-values, e in {-1, 0, 1}. Each begins
with a third of a capital of 1, and after each value they share a part J of it:

    C_e <- ((1 - J) C_e + J / 3 sum C) (1 + e (p_n - 1/2)).

While values are exchangeable, the capital M = sum C is a martingale. The statistic is log M_n - min
over i < n of log M_i, in nats (CUSUM); the alarm at capital c is one at log c. Ranks are among the
last RANKED values, which are all values of shorter segments.

Numbers: key, drawn (see `detector.KEY`); count; log_capital [3]; least, the minimum; ring of the
last values [RANKED].
"""

from __future__ import annotations

import math

import numpy as np
from numba import cfunc, njit

from shiftbench.methods.detectors import draws
from shiftbench.methods.detectors.detector import KEPT, KEY, UPDATE, Detector, numbers_of

THRESHOLD, JUMP = math.log(100.0), 0.01
RANKED = 1000


def build(threshold: float = THRESHOLD, jump: float = JUMP) -> Detector:
    """Build the detector; jump: the part J of the capital that is shared."""
    key = {name: np.zeros(shape) for name, shape in KEY.items()}
    capital = np.full(3, -math.log(3.0))
    start = key | numbers_of(count=0, log_capital=capital, least=0, ring=np.zeros(RANKED))
    return Detector(start, _update, np.array([jump], float), threshold, draws=True)


@njit(cache=True, error_model="numpy", forceinline=True)
def log_sum(log_capital):
    """Return the log of the whole capital."""
    most = log_capital.max()
    total = 0.0
    for e in range(3):
        total += math.exp(log_capital[e] - most)
    return most + math.log(total)


@njit(cache=True, error_model="numpy")
def bet(log_capital, p, jump):
    """Update the logs of the experts' capital [3] by a p-value, in place; return that of all."""
    shared = log_sum(log_capital) + math.log(jump / 3.0)
    for e in range(3):
        stays = log_capital[e] + math.log1p(-jump)
        both = max(stays, shared) + math.log1p(math.exp(-abs(stays - shared)))
        log_capital[e] = both + math.log1p((e - 1) * (p - 0.5))
    return log_sum(log_capital)


@njit(cache=True, error_model="numpy", forceinline=True)
def p_value(ring, held, value, theta):
    """Return the p-value of a value that is among the first `held` of the ring."""
    above, equal = 0.0, 0.0
    for i in range(held):
        above += ring[i] > value
        equal += ring[i] == value
    return (above + theta * equal) / held


@cfunc(UPDATE, cache=True, error_model="numpy")
def _update(numbers, value, constants):
    """Add a value, and bet on its p-value."""
    count, log_capital, ring = numbers[KEPT], numbers[KEPT + 1 : KEPT + 4], numbers[KEPT + 5 :]
    ring[int(count) % RANKED] = value
    numbers[KEPT] = count + 1.0
    theta = draws.uniform(draws.start(numbers[:2], numbers[2]), np.int64(0))
    numbers[2] += 1.0
    p = p_value(ring, min(int(count) + 1, RANKED), value, theta)
    least = numbers[KEPT + 4]
    log_all = bet(log_capital, p, constants[0])
    numbers[KEPT + 4] = min(least, log_all)
    return log_all - least

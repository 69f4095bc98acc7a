"""Mixtures of Student's t or normal distributions of one value, compiled: one mixture at a time.

A mixture is an array [H, 5]: weight, centre, width, df (inf for a normal) and the factor
`student_t_tail.front`. `pack` leaves out components of negligible weight.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from shiftbench.evaluation.scoring.student_t_tail import density, front, tail

NEGLIGIBLE = 1e-8
"""Largest share of the mean width that the components left out may have together."""
STEPS = 200
"""Most steps of a search for a quantile; bisection alone needs about 60."""


@njit(cache=True, error_model="numpy")
def fronts(df):
    """Return the factors `front` [S, H] of degrees of freedom."""
    found = np.empty(df.shape)
    for s in range(df.shape[0]):
        for h in range(df.shape[1]):
            found[s, h] = front(df[s, h])
    return found


@njit(cache=True, error_model="numpy")
def pack(weight, centre, width, df, fronts, mixture):
    """Fill `mixture` [H, 5] with the components [H] that matter; return their number.

    A component is left out if its weight, and its weight times distance or width, are less than a
    share NEGLIGIBLE / H of the total.
    """
    size, first, spread = len(weight), 0, 0.0
    for h in range(size):
        first = h if weight[h] > weight[first] else first
    for h in range(size):
        if weight[h] > 0:
            spread += weight[h] * (width[h] + abs(centre[h] - centre[first]))
    count, total, least = 0, 0.0, NEGLIGIBLE / size
    for h in range(size):
        reach = weight[h] * (width[h] + abs(centre[h] - centre[first])) if weight[h] > 0 else 0.0
        if weight[h] > least or reach > least * spread:
            mixture[count, 0], mixture[count, 1], mixture[count, 2] = weight[h], centre[h], width[h]
            mixture[count, 3], mixture[count, 4] = df[h], fronts[h]
            total += weight[h]
            count += 1
    for k in range(count):
        mixture[k, 0] /= total
    return count


@njit(cache=True, error_model="numpy")
def above(mixture, y):
    """Return the probability of values above y."""
    total = 0.0
    for k in range(len(mixture)):
        weight, centre, width, df, factor = mixture[k]
        total += weight * tail((y - centre) / width, df, factor)
    return total


@njit(cache=True, error_model="numpy")
def excess(mixture, y):
    """Return E max(X - y, 0), and the same of the opposite side, E max(y - X, 0); df > 1."""
    over = under = 0.0
    for k in range(len(mixture)):
        weight, centre, width, df, factor = mixture[k]
        z = (y - centre) / width
        spread = (df + z * z) / (df - 1) if df < math.inf else 1.0
        peak, upper = density(z, df, factor) * spread, tail(abs(z), df, factor)
        beyond = width * max(peak - abs(z) * upper, 0.0)
        over += weight * (beyond if z >= 0 else beyond - width * z)
        under += weight * (beyond + width * z if z >= 0 else beyond)
    return over, under


@njit(cache=True, error_model="numpy")
def quantile(mixture, probability):
    """Return the value with this probability of values below, to 1e-10 of the mean width.

    Uses Newton's steps, and bisection where a step leaves the bracket or does not halve it.
    """
    low, high = math.inf, -math.inf
    scale = 0.0
    for k in range(len(mixture)):
        weight, centre, width, _, _ = mixture[k]
        low, high = min(low, centre - width), max(high, centre + width)
        scale += weight * width
    step = high - low
    while above(mixture, low) < 1 - probability:
        low, step = low - step, 2 * step
    step = high - low
    while above(mixture, high) > 1 - probability:
        high, step = high + step, 2 * step
    y = 0.5 * (low + high)
    for _ in range(STEPS):
        width_before = high - low
        missed = above(mixture, y) - (1 - probability)
        if missed > 0:
            low = y
        else:
            high = y
        slope = 0.0
        for k in range(len(mixture)):
            weight, centre, width, df, factor = mixture[k]
            slope += weight * density((y - centre) / width, df, factor) / width
        newton = y + missed / slope if slope > 0 else math.inf
        if abs(newton - y) < 1e-10 * scale or high - low < 1e-10 * scale:
            return y
        fits = low < newton < high and abs(newton - y) < 0.5 * width_before
        y = newton if fits else 0.5 * (low + high)
    return y

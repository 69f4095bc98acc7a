"""Diffusion score matching of Gaussian values: conjugate, by sums, whatever the weights of values.

Source: M. Altamirano, F.-X. Briol and J. Knoblauch, 2023, ICML, section 3 (altamirano2023dsm). The
log likelihood of a value x is replaced by -omega times a divergence between scores, weighed by m(x)
squared. For a density exp(eta'r(x) + b(x)) this loss is quadratic in the natural parameters eta, so
that a Gaussian prior stays Gaussian:

    precision += 2 omega m^2 r' r'^T,        shift -= 2 omega (m^2 r' b' + (m^2 r')'),

where ' is d/dx and shift is the precision times the mean. Here m^2 = 1 / (1 + x^2), which bounds
both sums' terms for every x.

Mean alone, with known noise variance s2: eta is the mean, r = x / s2, b = -x^2 / (2 s2). Mean and
variance: eta = (mean / variance, 1 / variance), r = (x, -x^2 / 2), b = 0; the posterior is the
Gaussian truncated to eta_2 > 0. Compiled, for one value at a time.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

NODES = 64
LOG_2_PI = math.log(2 * math.pi)
ROOT_2 = math.sqrt(2.0)
REACH = 8.5
"""Standard deviations to which a Gaussian is integrated: beyond them it has a share of 1e-16."""
MOST_STEPS = 100


def rule(n: int = NODES) -> np.ndarray:
    """Return nodes and weights [2, n] of Gauss and Legendre on [0, 1]; Newton on the recursion.

    Written out, as NumPy's eigenvalues may differ between processors in the last bit.
    """
    found = np.empty((2, n))
    for i in range(n):
        x = math.cos(math.pi * (i + 0.75) / (n + 0.5))
        for _ in range(8):
            before, here = 1.0, x
            for degree in range(2, n + 1):
                before, here = here, ((2 * degree - 1) * x * here - (degree - 1) * before) / degree
            slope = n * (x * here - before) / (x * x - 1)
            x -= here / slope
        found[:, n - 1 - i] = (1 + x) / 2, 1 / ((1 - x * x) * slope * slope)
    return found


@njit(cache=True, error_model="numpy", forceinline=True)
def weight(x):
    """Return m^2 and its derivative at x."""
    square = 1.0 / (1.0 + x * x)
    return square, -2.0 * x * square * square


@njit(cache=True, error_model="numpy", forceinline=True)
def learn_mean(x, omega, noise, precision, shift):
    """Return precision and shift of the mean after a value, for noise of this variance."""
    square, slope = weight(x)
    rate = 2.0 * omega / noise
    return precision + rate * square / noise, shift - rate * (slope - x * square / noise)


@njit(cache=True, error_model="numpy", forceinline=True)
def learn(x, omega, precision, shift):
    """Update precision [4] and shift [2] of mean and variance by a value, in place."""
    square, slope = weight(x)
    rate = 2.0 * omega
    cross = rate * x * square
    precision[0] += rate * square
    precision[1] -= cross
    precision[2] -= cross
    precision[3] += x * cross
    shift[0] -= rate * slope
    shift[1] += rate * (x * slope + square)


@njit(cache=True, error_model="numpy", forceinline=True)
def diffuse(precision, shift, variance):
    """Add a variance to both parameters, in place: P becomes P (I + variance P)^-1."""
    a, b, c = precision[0], precision[1], precision[3]
    top, low = 1.0 + variance * a, 1.0 + variance * c
    det = top * low - variance * variance * b * b
    more = variance * (a * c - b * b)
    precision[0], precision[3] = (a + more) / det, (c + more) / det
    precision[1] = precision[2] = b / det
    first, second = shift
    shift[0] = (low * first - variance * b * second) / det
    shift[1] = (top * second - variance * b * first) / det


@njit(cache=True, error_model="numpy", forceinline=True)
def relax(precision, shift, beta, prior):
    """Move both parameters towards the prior, in place; prior: mean and variance of each.

    Means become beta mean + (1 - beta) prior mean, covariances beta^2 cov + (1 - beta^2) prior cov.
    """
    if beta == 1.0:
        return
    a, b, c = precision[0], precision[1], precision[3]
    det, kept = a * c - b * b, beta * beta
    first = beta * (c * shift[0] - b * shift[1]) / det + (1.0 - beta) * prior[0]
    second = beta * (a * shift[1] - b * shift[0]) / det + (1.0 - beta) * prior[2]
    top = kept * c / det + (1.0 - kept) * prior[1]
    low = kept * a / det + (1.0 - kept) * prior[3]
    across = -kept * b / det
    new = top * low - across * across
    precision[0], precision[3] = low / new, top / new
    precision[1] = precision[2] = -across / new
    shift[0] = precision[0] * first + precision[1] * second
    shift[1] = precision[2] * first + precision[3] * second


@njit(cache=True, error_model="numpy", forceinline=True)
def _inverse_mills(z):
    """Return phi(z) / Phi(-z) for z of 5 or more; by Laplace's continued fraction."""
    fraction = z
    for k in range(60, 0, -1):
        fraction = z + k / fraction
    return fraction


@njit(cache=True, error_model="numpy", forceinline=True)
def log_below(z):
    """Return log Phi(z) of the standard normal; by a continued fraction in the far tail."""
    if z > -5.0:
        return math.log(0.5 * math.erfc(-z / ROOT_2))
    return -0.5 * (z * z + LOG_2_PI) - math.log(_inverse_mills(-z))


@njit(cache=True, error_model="numpy", forceinline=True)
def hazard_of_normal(z):
    """Return phi(z) / Phi(z) of the standard normal."""
    if z > -5.0:
        return math.exp(-0.5 * (z * z + LOG_2_PI)) / (0.5 * math.erfc(-z / ROOT_2))
    return _inverse_mills(-z)


@njit(cache=True, error_model="numpy", forceinline=True)
def plug_in(precision, shift):
    """Return mean and variance of a value at the posterior mean of eta, which is truncated.

    A predictive variance does not exist: that of 1 / eta_2 is infinite.
    """
    det = precision[0] * precision[3] - precision[1] * precision[1]
    sd = math.sqrt(precision[0] / det)
    centre = (precision[0] * shift[1] - precision[1] * shift[0]) / det
    eta_2 = centre + sd * hazard_of_normal(centre / sd)
    return (shift[0] - precision[1] * eta_2) / precision[0] / eta_2, 1.0 / eta_2


@njit(cache=True, error_model="numpy", forceinline=True)
def _slopes(eta, start, slope, v, centre, variance):
    """Return the first two derivatives of the log integrand of `log_predictive`."""
    wide = eta + v
    ratio = (start + slope * eta) / wide
    bend = slope - ratio
    first = 1.0 / eta - 0.5 / wide - ratio * (slope - 0.5 * ratio) - (eta - centre) / variance
    return first, 0.5 / (wide * wide) - 1.0 / (eta * eta) - bend * bend / wide - 1.0 / variance


@njit(cache=True, error_model="numpy")
def _support(start, slope, v, centre, variance):
    """Return bounds beyond which the integrand of `log_predictive` is 1e-16 of its maximum.

    The first derivative is convex and falls, so that Newton's method rises to the maximum from a
    place left of it. Left of the maximum the curvature is larger than there. Right of it, it is at
    least that of the normal, 1 / variance, and the slope does not rise.
    """
    moved = centre - 0.5 * slope * slope * variance
    root = math.sqrt(moved * moved + 2.0 * variance)
    eta = 0.5 * (moved + root) if moved > 0 else variance / (root - moved)
    for _ in range(MOST_STEPS):
        first, second = _slopes(eta, start, slope, v, centre, variance)
        step = -first / second
        eta += step
        if step * step * -second < 1e-4:
            break
    _, second = _slopes(eta, start, slope, v, centre, variance)
    width = 1.0 / math.sqrt(-second)
    first, _ = _slopes(eta + width, start, slope, v, centre, variance)
    fall = max(-first, 0.0)
    reach = REACH * REACH / (fall + math.sqrt(fall * fall + REACH * REACH / variance))
    return max(0.0, eta - REACH * width), eta + width + reach


@njit(cache=True, error_model="numpy")
def log_predictive(x, precision, shift, nodes, weights):
    """Return the log density of a value under the posterior of mean and variance.

    With eta_1 integrated out, eta_1 | eta_2 ~ N(a, v), the integrand over eta_2 is
    N(x; a / eta_2, 1 / eta_2 + v / eta_2^2) times the truncated normal. Its logarithm is concave,
    so the rule (nodes, weights on [0, 1]) is laid over the places around its maximum.
    """
    det = precision[0] * precision[3] - precision[1] * precision[1]
    variance = precision[0] / det
    centre = (precision[0] * shift[1] - precision[1] * shift[0]) / det
    v, slope = 1.0 / precision[0], x + precision[1] / precision[0]
    start = -shift[0] / precision[0]
    low, high = _support(start, slope, v, centre, variance)
    top, total = -math.inf, 0.0
    for i in range(len(nodes)):
        # Squared, the nodes are dense near the bound 0, where the integrand rises.
        eta = low + (high - low) * nodes[i] * nodes[i]
        wide = eta + v
        error = start + slope * eta
        off = eta - centre
        power = -0.5 * (error * error / wide + off * off / variance)
        part = weights[i] * nodes[i] * eta / math.sqrt(wide)
        if power > top:
            total = total * math.exp(top - power) + part
            top = power
        else:
            total += part * math.exp(power - top)
    scale = LOG_2_PI + 0.5 * math.log(variance) + log_below(centre / math.sqrt(variance))
    return top + math.log(2.0 * (high - low) * total) - scale

"""Tail probability and density of Student's t distribution for any degrees of freedom, compiled.

With a = df / 2 and x = df / (df + t^2), P(T > t) = I_x(a, 1/2) / 2, the incomplete beta function.
Below `LARGE`, a is raised by I_x(a, b) = I_x(a + 1, b) + x^a (1 - x)^b / (a B(a, b)) (DLMF
8.17.20); all terms are positive. From there on, with s = -log of the variable of integration and
m = a - 1/4, the integral over s > -log x is that of exp(-m s) s^(-1/2) (sinh(s/2) / (s/2))^(-1/2),
whose last factor is a series in s^2. Each term is an incomplete gamma function.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from shiftbench.methods.posteriors import student_t

LARGE = 10.0
"""The value of a from which the series is exact to 1e-11."""
SERIES = (-1 / 48, 1 / 2560, -61 / 7741440, 1261 / 7431782400)
"""Coefficients of s^2, s^4, ... in (sinh(s/2) / (s/2))^(-1/2)."""
FALLEN = 700.0
"""Exponent from which exp(-z) is 0 to rounding."""
ROOT_PI = math.sqrt(math.pi)
ROOT_2 = math.sqrt(2.0)


@njit(cache=True, error_model="numpy")
def front(df):
    """Return 1 / B(df / 2, 1/2), the factor that `tail` and `density` need; 0 for df = inf."""
    if df == math.inf:
        return 0.0
    return math.sqrt(df) * math.exp(student_t.log_constant(df, np.int64(1)))


@njit(cache=True, error_model="numpy")
def density(t, df, front):
    """Return the density at t; the normal density for df = inf."""
    if df == math.inf:
        return math.exp(-0.5 * t * t) / (ROOT_2 * ROOT_PI)
    return front / math.sqrt(df) * math.exp(-0.5 * (df + 1) * math.log1p(t * t / df))


@njit(cache=True, error_model="numpy")
def tail(t, df, front):
    """Return P(T > t) with an absolute error below 1e-11; that of the normal for df = inf."""
    if df == math.inf:
        return 0.5 * math.erfc(t / ROOT_2)
    a, total = 0.5 * df, 0.0
    xi = math.log1p(t * t / df)
    if a < LARGE:
        x = df / (df + t * t)
        term = front * math.exp(-a * xi) * abs(t) / math.sqrt(df + t * t) / a
        while a < LARGE:
            total += term
            term *= x * (a + 0.5) / (a + 1.0)
            front *= (a + 0.5) / a
            a += 1.0
    upper = 0.5 * (total + front * _integral(a - 0.25, xi))
    return upper if t >= 0 else 1.0 - upper


@njit(cache=True, error_model="numpy")
def _integral(m, xi):
    """Return the integral over s > xi of exp(-m s) (2 sinh(s / 2))^(-1/2)."""
    z = m * xi
    if z > FALLEN:
        return 0.0
    root, fall = math.sqrt(z), math.exp(-z)
    gamma, power = ROOT_PI * math.erfc(root), root * fall
    total, alpha, scale = gamma, 0.5, 1.0 / math.sqrt(m)
    inverse, weight = 1.0 / (m * m), 1.0
    for coefficient in SERIES:
        for _ in range(2):
            gamma = alpha * gamma + power
            power *= z
            alpha += 1.0
        weight *= inverse
        total += coefficient * weight * gamma
    return scale * total

"""Log score of a multivariate Student's t prediction: log density or beta-divergence.

f is the density of y in R^d with df degrees of freedom and scale matrix V; excess = e' V^-1 e / df
for the residual e, log_det = log |V|. Source: knoblauch2018robust, Eq. 7 and 8; its appendix has
the integral of f^(1 + beta), which tests compare with quadrature. Compiled scalar functions.
"""

from __future__ import annotations

import math

from numba import njit

HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)
LARGE = 10
"""Argument from which the series of `log_constant` is exact to rounding: its first term that is
left out is below 1e-16."""
HUGE = 1e200
"""Product from which `log_constant` takes the logarithm, before it overflows."""


@njit(cache=True, error_model="numpy", forceinline=True)
def log_constant(df: float, d: int) -> float:
    """Return log f at e = 0, V = I: log Gamma((df + d) / 2) - log Gamma(df / 2) - d / 2 log(df pi).

    With a = df / 2, the ratio of the gamma functions is the product of a + j for j < d // 2 and,
    if d is odd, a ratio of two arguments that differ by 1/2. Its logarithm is log(z) / 2 minus a
    series in 1 / z (Tricomi and Erdelyi, 1951), and arguments below `LARGE` are raised above it by
    Gamma(z + 1) = z Gamma(z). There is no difference of large logarithms, so the error does not
    grow with df, and a large df with d = 1 needs no logarithm.
    """
    a = 0.5 * df
    logarithm, ratio = -HALF_LOG_2_PI * d, 1.0
    for j in range(d // 2):
        ratio *= (a + j) / a
        if ratio > HUGE:
            logarithm += math.log(ratio)
            ratio = 1.0
    if d % 2 == 1:
        z = a + d // 2
        if z < LARGE:
            # Factors in pairs: (z + j) (z + 9 - j) = z (z + 9) + j (9 - j).
            first, second = z * (z + LARGE - 1), (z + 0.5) * (z + LARGE - 0.5)
            below = above = 1.0
            for j in range(LARGE // 2):
                below *= first + j * (LARGE - 1 - j)
                above *= second + j * (LARGE - 1 - j)
            ratio *= below / above
            z += LARGE
        if z > a:
            ratio *= math.sqrt(z / a)
        logarithm -= _half_step(z)
    return logarithm if ratio == 1.0 else logarithm + math.log(ratio)


@njit(cache=True, error_model="numpy", forceinline=True)
def _half_step(z: float) -> float:
    """Return log(z) / 2 - log Gamma(z + 1/2) + log Gamma(z) for z >= LARGE.

    The coefficient of z^(1 - 2 k) is (1 - 4^-k) B_2k / (k (2 k - 1)), with Bernoulli numbers B.
    """
    inverse = 1.0 / z
    u = inverse * inverse
    tail = 31 / 18432 - u * (691 / 180224 - u * (5461 / 425984))
    return inverse * (1 / 8 - u * (1 / 192 - u * (1 / 640 - u * (17 / 14336 - u * tail))))


@njit(cache=True, error_model="numpy", forceinline=True)
def log_density(df: float, d: int, log_det: float, excess: float) -> float:
    """Return log f."""
    return log_constant(df, d) - 0.5 * (log_det + (df + d) * math.log1p(excess))


@njit(cache=True, error_model="numpy", forceinline=True)
def log_integral(beta: float, df: float, d: int, log_det: float) -> float:
    """Return the log of the integral of f^(1 + beta) over R^d.

    f^(1 + beta) is, up to its constant, a Student's t density of other degrees of freedom.
    """
    wide = df * (1 + beta) + d * beta
    constants = (1 + beta) * log_constant(df, d) - log_constant(wide, d)
    return constants + 0.5 * (d * math.log(df / wide) - beta * log_det)


@njit(cache=True, error_model="numpy", forceinline=True)
def score(beta: float, df: float, d: int, log_det: float, excess: float) -> float:
    """Return log f for beta = 0, else f^beta / beta - (integral of f^(1 + beta)) / (1 + beta).

    For beta -> 0 the second tends to the first, up to the constant 1 / beta - 1.
    """
    logarithm = log_density(df, d, log_det, excess)
    if beta == 0:
        return logarithm
    integral = math.exp(log_integral(beta, df, d, log_det))
    return math.exp(beta * logarithm) / beta - integral / (1 + beta)

"""Log score of a multivariate Student's t prediction: log density or beta-divergence.

f is the density of y in R^d with df degrees of freedom and scale matrix V; quadratic = e' V^-1 e
for the residual e, log_det = log |V|. Source: knoblauch2018robust, Eq. 7 and 8; its appendix has
the integral of f^(1 + beta), which tests compare with quadrature. Compiled scalar functions.
"""

from __future__ import annotations

import math

from numba import njit


@njit(cache=True)
def log_density(df: float, d: int, log_det: float, quadratic: float) -> float:
    """Return log f."""
    half = 0.5 * (df + d)
    constant = math.lgamma(half) - math.lgamma(0.5 * df) - 0.5 * d * math.log(df * math.pi)
    return constant - 0.5 * log_det - half * math.log1p(quadratic / df)


@njit(cache=True)
def log_integral(beta: float, df: float, d: int, log_det: float) -> float:
    """Return the log of the integral of f^(1 + beta) over R^d."""
    wide = df * (1 + beta) + d * beta
    return (
        (1 + beta) * (math.lgamma(0.5 * (df + d)) - math.lgamma(0.5 * df))
        + math.lgamma(0.5 * wide)
        - math.lgamma(0.5 * (wide + d))
        - 0.5 * d * beta * math.log(df * math.pi)
        - 0.5 * beta * log_det
    )


@njit(cache=True)
def score(beta: float, df: float, d: int, log_det: float, quadratic: float) -> float:
    """Return log f for beta = 0, else f^beta / beta - (integral of f^(1 + beta)) / (1 + beta).

    For beta -> 0 the second tends to the first, up to the constant 1 / beta - 1.
    """
    logarithm = log_density(df, d, log_det, quadratic)
    if beta == 0:
        return logarithm
    integral = math.exp(log_integral(beta, df, d, log_det))
    return math.exp(beta * logarithm) / beta - integral / (1 + beta)

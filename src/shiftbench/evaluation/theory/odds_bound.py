"""Bound on the effect of an observation on run lengths whose evidence is a beta score.

Source: knoblauch2018robust, Fig. 2A, Theorem 1. The inequality of the theorem is only in the
paper's appendix; the condition here is our own, and sufficient for every run length and
observation.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln


def log_odds_bound(
    beta: ArrayLike, hazard: ArrayLike, d: int, log_det: ArrayLike, a0: float, b0: float
) -> np.ndarray:
    """Return a lower bound on the log odds of no changepoint, whatever the next observation is.

    It bounds log (1 - h) / h + l_r(y) - l_0(y), with l the beta score for beta > 0 (Eq. 7 with the
    sign of Eq. 8); if it is at least 0, no single outlier can force a changepoint (Theorem 1).
    hazard: h. log_det: log |V| of the scale matrix V of the prediction. a0, b0: prior of s2. Arrays
    broadcast. With f >= 0 and l_r(y) > -I_r / (1 + beta),

        bound = log (1 - h) / h - I_r / (1 + beta) - [sup f_0^beta / beta - I_0 / (1 + beta)],

    where the bracket is largest at the smallest |V_0|, (b0 / a0)^d, whatever the regressors and the
    prior of their coefficients, and I_r is at most that of a run of one row or that of a Gaussian
    with determinant |V|, the larger of both. A run of n rows has 2 a0 + n d degrees of freedom if
    its posterior is the standard one; a beta posterior may have fewer.
    """
    b, h = np.asarray(beta, float), np.asarray(hazard, float)
    prior_log_det = d * math.log(b0 / a0)
    peak = np.exp(b * _log_peak(2 * a0, d, prior_log_det)) / b
    of_prior = np.exp(_log_integral(b, 2 * a0, d, prior_log_det)) / (1 + b)
    of_run = np.exp(_log_run_integral(b, d, np.asarray(log_det, float), a0)) / (1 + b)
    return np.log1p(-h) - np.log(h) - of_run - (peak - of_prior)


def smallest_log_det(
    beta: ArrayLike, hazard: ArrayLike, d: int, a0: float, b0: float
) -> np.ndarray:
    """Return log |V| from which on `log_odds_bound` is at least 0; inf if no |V| is enough."""
    b = np.asarray(beta, float)
    # Only I_r depends on |V|; it falls as |V|^(-beta / 2).
    room = log_odds_bound(b, hazard, d, np.inf, a0, b0)
    at_one = np.exp(_log_run_integral(b, d, np.array(0.0), a0)) / (1 + b)
    enough = 2 / b * (np.log(at_one) - np.log(np.where(room > 0, room, np.nan)))
    return np.where(room > 0, enough, np.inf)


def _log_peak(df: float, d: int, log_det: float) -> float:
    """Return the log of the largest density of a Student's t."""
    half = 0.5 * (df + d)
    constant = gammaln(half) - gammaln(0.5 * df) - 0.5 * d * math.log(df * math.pi)
    return float(constant - 0.5 * log_det)


def _log_integral(beta: np.ndarray, df: float, d: int, log_det: float | np.ndarray) -> np.ndarray:
    """Return the log of the integral of f^(1 + beta), for f a Student's t in R^d."""
    wide = df * (1 + beta) + d * beta
    return (
        (1 + beta) * (gammaln(0.5 * (df + d)) - gammaln(0.5 * df))
        + gammaln(0.5 * wide)
        - gammaln(0.5 * (wide + d))
        - 0.5 * d * beta * math.log(df * math.pi)
        - 0.5 * beta * log_det
    )


def _log_run_integral(beta: np.ndarray, d: int, log_det: np.ndarray, a0: float) -> np.ndarray:
    """Return the largest log integral of f^(1 + beta) over all run lengths.

    As a function of the degrees of freedom, it first falls and then rises, or does only one of
    these. So the largest value is that of the shortest run or the limit, a Gaussian.
    """
    gaussian = -0.5 * beta * (d * math.log(2 * math.pi) + log_det) - 0.5 * d * np.log1p(beta)
    return np.maximum(gaussian, _log_integral(beta, 2 * a0 + d, d, log_det))

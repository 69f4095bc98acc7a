"""Broadening of a Gaussian with a full covariance, N(mean, L L'), L lower triangular.

Source: li2021vbs, section 3.2 and Eq. 3; all kinds stay in the family. Everything is computed from
L, whose diagonal can become neither negative nor, except by underflow, zero.

Shapes: mean [..., P] and root L [..., P, P], any leading axes.
"""

from __future__ import annotations

import numpy as np

from shiftbench.core.interface import Broadening


def broaden(
    mean: np.ndarray,
    root: np.ndarray,
    broadening: Broadening,
    prior_mean: float = 0.0,
    prior_variance: float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and root of the widened Gaussian; the prior is N(prior_mean, prior_variance I).

    As `mean_field_gaussian.broaden`: temper q^beta, temper-prior q^beta N(prior), geometric
    q^beta N(prior)^(1 - beta), diffuse covariance + D I.

    temper has no bound: the variance in a direction without data grows by 1 / beta each time
    (covariance wind-up). With a share of the prior it grows at most to that of the prior.
    """
    if broadening.kind == "diffuse":
        covariance = root @ _transposed(root) + broadening.variance * np.eye(root.shape[-1])
        return mean, np.linalg.cholesky(covariance)
    share = broadening.prior_share / prior_variance
    return powers(mean, root, broadening.beta, prior_mean, share)[:2]


def powers(
    mean: np.ndarray, root: np.ndarray, beta: float, prior_mean: float, precision: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mean, root and loss of q^beta times exp(-precision |x - prior_mean|^2 / 2).

    The loss [...] is the minimum over x, taken at the new mean, of beta |x - mean|^2 (in q's
    metric) + precision |x - prior_mean|^2. With C = beta I + precision L'L, the new covariance is
    L C^-1 L', and the new mean is mean + L C^-1 L' (prior_mean - mean) precision.
    """
    if not precision:
        return mean, root / np.sqrt(beta), np.zeros(mean.shape[:-1])
    transposed = _transposed(root)
    scaled = beta * np.eye(root.shape[-1]) + precision * (transposed @ root)
    pull = precision * transposed @ (prior_mean - mean)[..., None]
    step = np.linalg.solve(scaled, pull)
    # C = U U' with U upper triangular, so that L U'^-1 is lower triangular like L.
    upper = np.linalg.cholesky(scaled[..., ::-1, ::-1])[..., ::-1, ::-1]
    new_mean = mean + (root @ step)[..., 0]
    loss = beta * (step**2).sum((-2, -1)) + precision * ((new_mean - prior_mean) ** 2).sum(-1)
    return new_mean, _transposed(np.linalg.solve(upper, transposed)), loss


def _transposed(matrix: np.ndarray) -> np.ndarray:
    return np.swapaxes(matrix, -1, -2)

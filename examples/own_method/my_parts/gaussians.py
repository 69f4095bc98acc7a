"""What several parts may share: a module beside their folders."""

from __future__ import annotations

import numpy as np


def moments(
    precision: np.ndarray, vector: np.ndarray, inputs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance [S, H, n] of x'w for w ~ N(A^-1 b, A^-1), of inputs x [S, n, d]."""
    covariance = np.linalg.inv(precision)
    weights = np.einsum("shde,she->shd", covariance, vector)
    mean = np.einsum("snd,shd->shn", inputs, weights)
    return mean, np.einsum("snd,shde,sne->shn", inputs, covariance, inputs)

"""Marginal distributions of predicted real values: mixtures of Gaussians or Student's t."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, stdtr

from shiftbench.core.interface import Gaussian, StudentT


class Marginals(NamedTuple):
    """The distribution of each target of each row, a mixture over hypotheses.

    weight: [S, H], sums to 1. centre, width: [S, H, n, d], width > 0; df: [S, H], inf for
    Gaussians, whose width is the standard deviation.
    """

    weight: np.ndarray
    centre: np.ndarray
    width: np.ndarray
    df: np.ndarray

    @classmethod
    def of(cls, predictive: Gaussian | StudentT) -> Marginals:
        """Return the marginals of a prediction."""
        weight = np.exp(predictive.log_weights)
        if isinstance(predictive, Gaussian):
            df = np.full(weight.shape, np.inf)
            return cls(weight, predictive.mean, np.sqrt(predictive.variance), df)
        width = np.sqrt(np.diagonal(predictive.scale, axis1=-2, axis2=-1))
        return cls(weight, predictive.mean, width, predictive.df)

    def cumulative(self, targets: np.ndarray) -> np.ndarray:
        """Return the distribution functions [S, n, d] at targets [S, n, d]."""
        z = (targets[:, None] - self.centre) / self.width
        normal = np.isinf(self.df).all()
        below = ndtr(z) if normal else stdtr(self.df[..., None, None], z)
        return np.einsum("sh,shnd->snd", self.weight, below)

"""Predictions for users: a mixture over hypotheses, summarised by moments or probabilities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shiftbench.api.input_error import InputError
from shiftbench.core.interface import Categorical, Gaussian, StudentT


class Prediction(NamedTuple):
    """Mean and standard deviation of the predictive mixture over all hypotheses.

    Numbers for one row of one target, arrays [n], [d] or [n, d] for more. sd is infinite where a
    Student's t distribution has no variance (df <= 2).
    """

    mean: Any
    sd: Any


def moments(predictive: Gaussian | StudentT) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation [S, n, d] of the mixture over hypotheses.

    Raises InputError for a negative variance, which only a learner of the user's can predict.
    """
    weight = np.exp(predictive.log_weights)[:, :, None, None]
    mean = (weight * predictive.mean).sum(axis=1)
    # An infinite variance of a hypothesis without weight counts for nothing.
    variance = np.where(weight > 0, _variance(predictive), 0.0)
    if (variance < 0).any():
        raise InputError(
            "the method predicts a negative variance; look at `predict` of its learner, and test"
            " the folder of its components with `shiftbench test`"
        )
    within = variance + (predictive.mean - mean[:, None]) ** 2
    return mean, np.sqrt((weight * within).sum(axis=1))


def probabilities(predictive: Categorical) -> np.ndarray:
    """Return the class probabilities [S, n, C] of the mixture over hypotheses."""
    weight = np.exp(predictive.log_weights)[:, :, None, None]
    return np.asarray((weight * predictive.probabilities).sum(axis=1), float)


def _variance(predictive: Gaussian | StudentT) -> np.ndarray:
    if isinstance(predictive, Gaussian):
        return np.asarray(predictive.variance)
    df = predictive.df[:, :, None, None]
    scale = np.diagonal(predictive.scale, axis1=-2, axis2=-1)
    with np.errstate(divide="ignore"):
        return np.where(df > 2, df / np.maximum(df - 2, 0) * scale, np.inf)

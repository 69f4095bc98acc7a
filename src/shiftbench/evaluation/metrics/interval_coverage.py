"""Share of values within the central 95 % predictive interval before they are learnt (prequential).

0.95 where predictions are calibrated. Lower: the predicted noise is too small, or changes are
missed; higher: it is too large. Each target of a row has an interval of its own, from the marginal
distribution of the mixture over hypotheses: a value is within it where the distribution function
there is between 0.025 and 0.975.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, stdtr

from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Categorical, Gaussian, Predictive, StudentT
from shiftbench.evaluation.metrics._classes import masked_mean

STAGE = "before"
UNIT = "fraction"
BOUNDS = (0.0, 1.0)
HIGHER_IS_BETTER = None
TAKES = ("value", "number", "design", "designs")
JUDGES = ("gaussian", "student-t")

LEVEL = 0.95
"""Of the interval; the rest is half below and half above."""


def score(predictive: Predictive, batch: Batch) -> np.ndarray:
    """Share of a task's values within their intervals [S]; UserError for a classification."""
    if isinstance(predictive, Categorical):
        raise UserError(
            "metric interval_coverage needs a stream of real values, but the predictions are class"
            " probabilities; use ece instead"
        )
    targets = np.where(batch.mask[..., None], batch.targets, 0.0)[:, None]
    below = np.einsum("sh,shnd->snd", np.exp(predictive.log_weights), _cdf(predictive, targets))
    within = np.abs(below - 0.5) <= LEVEL / 2
    return masked_mean(within.mean(axis=-1), batch.mask)


def _cdf(predictive: Gaussian | StudentT, targets: np.ndarray) -> np.ndarray:
    """Of each hypothesis and target [S, H, n, d], at targets [S, 1, n, d]."""
    if isinstance(predictive, Gaussian):
        return ndtr((targets - predictive.mean) / np.sqrt(predictive.variance))
    spread = np.sqrt(np.diagonal(predictive.scale, axis1=-2, axis2=-1))
    return stdtr(predictive.df[..., None, None], (targets - predictive.mean) / spread)

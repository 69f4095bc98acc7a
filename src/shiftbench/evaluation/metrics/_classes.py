"""What the metrics of classification share: the mixture over hypotheses, and masks."""

from __future__ import annotations

import numpy as np

from shiftbench.core.errors import UserError
from shiftbench.core.interface import Categorical, Predictive


def categorical(predictive: Predictive, metric: str) -> Categorical:
    """The predictive, or a UserError that names the metric where it is no classification."""
    if not isinstance(predictive, Categorical):
        raise UserError(
            f"metric {metric} needs a stream of class labels, but the predictions are real "
            f"values; take {metric} out of this study's metrics"
        )
    return predictive


def mixture(predictive: Categorical) -> np.ndarray:
    """Class probabilities [S, n, C] averaged over hypotheses by their weights."""
    return np.einsum("sh,shnc->snc", np.exp(predictive.log_weights), predictive.probabilities)


def masked_mean(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Mean [S] over the unmasked rows of values [S, n]; NaN where there are none."""
    count = mask.sum(axis=1)
    total = np.where(mask, values, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)

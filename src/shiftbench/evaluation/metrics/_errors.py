"""What the metrics of prediction errors share: the error of the mean of the mixture."""

from __future__ import annotations

import numpy as np

from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Categorical, Predictive


def error(predictive: Predictive, batch: Batch, metric: str) -> np.ndarray:
    """Predicted minus seen values [S, n, d]; 0 in masked rows.

    The prediction is the mean over hypotheses by their weights. UserError, naming the metric,
    for a classification.
    """
    if isinstance(predictive, Categorical):
        raise UserError(
            f"metric {metric} needs a stream of real values, but the predictions are class "
            f"probabilities; take {metric} out of this study's metrics"
        )
    weights = np.exp(predictive.log_weights)
    mean = np.einsum("sh,shnd->snd", weights, predictive.mean)
    return np.where(batch.mask[..., None], mean - batch.targets, 0.0)

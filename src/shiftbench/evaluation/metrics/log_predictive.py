"""Mean log density of each observation before it is learnt from (prequential).

Of the Gaussian mixture over hypotheses, in nats per observation (row); the targets of one
row are independent given the hypothesis, so their log densities add within it.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from shiftbench.errors import UserError
from shiftbench.evaluation.metrics._classes import masked_mean
from shiftbench.interface import Batch, Gaussian, Predictive

STAGE = "before"
UNIT = "nats per observation"
HIGHER_IS_BETTER = True


def score(predictive: Predictive, batch: Batch) -> np.ndarray:
    """Mean log predictive density [S]; UserError for a classification."""
    if not isinstance(predictive, Gaussian):
        raise UserError(
            "metric log_predictive needs a stream of real values, but the predictions are class "
            "probabilities; take nll into this study's metrics instead"
        )
    targets = np.where(batch.mask[..., None], batch.targets, 0.0)[:, None]
    squared = (targets - predictive.mean) ** 2 / predictive.variance
    density = -0.5 * (np.log(2 * np.pi * predictive.variance) + squared).sum(axis=-1)
    return masked_mean(logsumexp(density + predictive.log_weights[..., None], axis=1), batch.mask)

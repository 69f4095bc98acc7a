"""Absolute error of a share that is learnt as its log-odds, mean over rows (prequential).

The prediction is the mean of the most likely hypothesis, before the task is learnt from, brought
back to a share; as in the public code of li2021vbs (version of NeurIPS 2021).
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from shiftbench.core import log_odds
from shiftbench.core.interface import Batch, Predictive
from shiftbench.evaluation.metrics._classes import masked_mean
from shiftbench.evaluation.metrics._score_loss import gaussian

STAGE = "before"
UNIT = "share"
BOUNDS = (0.0, 1.0)
HIGHER_IS_BETTER = False
TAKES = ("number",)
REQUIRES = ("log-odds",)
JUDGES = ("gaussian",)


def score(predictive: Predictive, batch: Batch) -> np.ndarray:
    """Mean absolute error [S]; UserError where the prediction is no real score."""
    found = gaussian(predictive, "share_error")
    first = np.arange(len(found.mean)), found.log_weights.argmax(axis=1)
    predicted, seen = expit(found.mean[first]), log_odds.share(batch.targets)
    return masked_mean(np.abs(predicted - seen)[..., 0], batch.mask)

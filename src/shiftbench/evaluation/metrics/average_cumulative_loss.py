"""Loss of the predicted score, averaged over all rows so far: l_t(m_t), prequential.

Of the mean over hypotheses, before the row is learnt from; hinge for two classes, squared
for a real value. Its mean over the tasks up to t is the average cumulative loss that
cherief2019online plots.
"""

from __future__ import annotations

import numpy as np

from shiftbench.core.interface import Batch, Predictive
from shiftbench.evaluation.metrics import _score_loss
from shiftbench.evaluation.metrics._classes import masked_mean

STAGE = "before"
UNIT = "loss per observation"
BOUNDS = (0.0, None)
HIGHER_IS_BETTER = False
TAKES = ("two-classes", "number", "value")
JUDGES = ("score", "gaussian")


def score(predictive: Predictive, batch: Batch) -> np.ndarray:
    """Mean loss [S]; UserError where the prediction is no real score."""
    scores = _score_loss.gaussian(predictive, "average_cumulative_loss")
    loss, targets = _score_loss.loss_and_targets(batch)
    mean = np.einsum("sh,shn->sn", np.exp(scores.log_weights), scores.mean[..., 0])
    return masked_mean(loss.value(targets, mean), batch.mask)

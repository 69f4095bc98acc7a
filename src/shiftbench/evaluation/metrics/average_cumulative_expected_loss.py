"""Expected loss under the posterior, averaged over all rows so far: E_q[l_t], prequential.

Exact for a mixture over hypotheses of Gaussian scores, before the row is learnt from; hinge
for two classes, squared for a real value. It is the left side of the regret bounds of
cherief2019online, and by Jensen never below `average_cumulative_loss`, which is that of the mean.
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
    """Mean expected loss [S]; UserError where the prediction is no real score."""
    scores = _score_loss.gaussian(predictive, "average_cumulative_expected_loss")
    loss, targets = _score_loss.loss_and_targets(batch)
    spread = np.sqrt(scores.variance[..., 0])
    expected = loss.expected(targets[:, None], scores.mean[..., 0], spread).value
    mixed = np.einsum("sh,shn->sn", np.exp(scores.log_weights), expected)
    return masked_mean(mixed, batch.mask)

"""What the loss metrics share: the stream's loss, of a mixture of Gaussian scores.

Hinge for two classes (labels 0 and 1 are -1 and +1, the predictive is of the score), squared
for one real value. cherief2019online uses these two.
"""

from __future__ import annotations

import numpy as np

from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Gaussian, Predictive
from shiftbench.methods.online.losses import Loss


def gaussian(predictive: Predictive, metric: str) -> Gaussian:
    """The predictive, or a UserError that names the metric where it is no score."""
    if not isinstance(predictive, Gaussian) or predictive.mean.shape[3] != 1:
        raise UserError(
            f"metric {metric} needs learners that predict one real score a row, such as svb; take"
            f" {metric} out of this study's metrics, or the other learners out of the study"
        )
    return predictive


def loss_and_targets(batch: Batch) -> tuple[Loss, np.ndarray]:
    """The loss of these targets, and the targets [S, n] as it takes them."""
    if batch.targets.dtype.kind in "iu":
        return Loss("hinge"), 2.0 * batch.targets - 1.0
    return Loss("squared"), batch.targets.reshape(batch.mask.shape)

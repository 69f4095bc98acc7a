"""Mean negative log probability of the true class, in the mixture of hypotheses.

In nats per test row. Probabilities below the smallest normal 32-bit number, which a
network's softmax rounds to zero, count as that number (87.3 nats), so that one row cannot
make the mean infinite.
"""

from __future__ import annotations

import numpy as np

from shiftbench.core.interface import Batch, Predictive
from shiftbench.evaluation.metrics._classes import categorical, masked_mean, mixture

STAGE = "after"
UNIT = "nats per example"
BOUNDS = (0.0, None)
HIGHER_IS_BETTER = False
JUDGES = ("categorical",)
REQUIRES = ("tests",)

SMALLEST = float(np.finfo(np.float32).tiny)


def score(predictive: Predictive, batch: Batch) -> np.ndarray:
    """Mean negative log likelihood [S]; UserError for a regression."""
    probabilities = mixture(categorical(predictive, "nll"))
    labels = np.where(batch.mask, batch.targets, 0)[..., None]
    true = np.take_along_axis(probabilities, labels, axis=-1)[..., 0]
    return masked_mean(-np.log(np.maximum(true, SMALLEST)), batch.mask)

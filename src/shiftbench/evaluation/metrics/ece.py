"""Expected calibration error: mean distance of confidence and accuracy over 15 bins.

Confidence is the probability of the most probable class in the mixture of hypotheses.
Fifteen bins of equal width, open below and closed above, (0, 1/15], ..., (14/15, 1]:
sum over bins of (rows in bin / rows) |accuracy in bin - mean confidence in bin|
(Guo et al. 2017, Eq. 3). Biased upwards when rows are few.
"""

from __future__ import annotations

import numpy as np

from shiftbench.core.interface import Batch, Predictive
from shiftbench.evaluation.metrics._classes import categorical, mixture
from shiftbench.evaluation.scoring.calibration_error import calibration_error

STAGE = "after"
UNIT = "fraction"
BOUNDS = (0.0, 1.0)
HIGHER_IS_BETTER = False
JUDGES = ("categorical",)
REQUIRES = ("tests",)


def score(predictive: Predictive, batch: Batch) -> np.ndarray:
    """Calibration error [S]; NaN without rows, UserError for a regression."""
    probabilities = mixture(categorical(predictive, "ece"))
    confidence = probabilities.max(axis=-1)
    correct = probabilities.argmax(axis=-1) == batch.targets
    return np.array(
        [
            calibration_error(confidence[s][mask], correct[s][mask])
            for s, mask in enumerate(batch.mask)
        ]
    )

"""Share of test rows whose most probable class, in the mixture of hypotheses, is right.

li2021vbs, C.2: classes are scored by the weighted mean of the hypotheses' predictive
probabilities. Of equally probable classes the first counts.
"""

from __future__ import annotations

import numpy as np

from shiftbench.core.interface import Batch, Predictive
from shiftbench.evaluation.metrics._classes import categorical, masked_mean, mixture

STAGE = "after"
UNIT = "fraction"
BOUNDS = (0.0, 1.0)
HIGHER_IS_BETTER = True
JUDGES = ("categorical",)
REQUIRES = ("tests",)


def score(predictive: Predictive, batch: Batch) -> np.ndarray:
    """Accuracy [S]; UserError for a regression."""
    predicted = mixture(categorical(predictive, "accuracy")).argmax(axis=-1)
    return masked_mean(predicted == batch.targets, batch.mask)

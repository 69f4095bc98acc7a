"""Share of test rows that the most likely hypothesis alone classifies correctly.

li2021vbs, C.2: all mass is put on the hypothesis with the largest weight ("1st hyp." in
Table 1). Equal to `accuracy` for a learner with one hypothesis.
"""

from __future__ import annotations

import numpy as np

from shiftbench.core.interface import Batch, Predictive
from shiftbench.evaluation.metrics._classes import categorical, masked_mean

STAGE = "after"
UNIT = "fraction"
BOUNDS = (0.0, 1.0)
HIGHER_IS_BETTER = True
JUDGES = ("categorical",)
REQUIRES = ("tests",)


def score(predictive: Predictive, batch: Batch) -> np.ndarray:
    """Accuracy [S]; UserError for a regression."""
    classes = categorical(predictive, "accuracy_first_hypothesis")
    first = classes.log_weights.argmax(axis=1)
    probabilities = classes.probabilities[np.arange(len(first)), first]
    return masked_mean(probabilities.argmax(axis=-1) == batch.targets, batch.mask)

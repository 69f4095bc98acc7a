"""Absolute error of the one-step-ahead prediction, mean over rows and targets (prequential).

The prediction is the mean of the mixture over hypotheses before the task is learnt from.
"""

from __future__ import annotations

import numpy as np

from shiftbench.core.interface import Batch, Predictive
from shiftbench.evaluation.metrics._classes import masked_mean
from shiftbench.evaluation.metrics._errors import error

STAGE = "before"
UNIT = "unit of the series"
BOUNDS = (0.0, None)
HIGHER_IS_BETTER = False
TAKES = ("value", "number", "design", "designs")
JUDGES = ("gaussian", "student-t", "score")


def score(predictive: Predictive, batch: Batch) -> np.ndarray:
    """Mean absolute error [S]; UserError for a classification."""
    errors = np.abs(error(predictive, batch, "absolute_error"))
    return masked_mean(errors.mean(axis=-1), batch.mask)

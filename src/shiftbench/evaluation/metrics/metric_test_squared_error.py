"""Squared error on test rows of the prediction after a task, mean over rows and targets.

The prediction is the mean of the mixture over hypotheses. Of targets as the learner sees them,
which a stream may have scaled; `rmse` is in the units of the data.
"""

from __future__ import annotations

import numpy as np

from shiftbench.core.interface import Batch, Predictive
from shiftbench.evaluation.metrics._classes import masked_mean
from shiftbench.evaluation.metrics._errors import error

STAGE = "after"
UNIT = "squared unit of the scaled target"
BOUNDS = (0.0, None)
HIGHER_IS_BETTER = False
TAKES = ("value", "number", "design", "designs")
JUDGES = ("gaussian", "student-t", "score")
REQUIRES = ("tests",)


def score(predictive: Predictive, batch: Batch) -> np.ndarray:
    """Mean squared error [S]; UserError for a classification."""
    errors = error(predictive, batch, "test_squared_error") ** 2
    return masked_mean(errors.mean(axis=-1), batch.mask)

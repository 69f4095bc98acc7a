"""Mean log density of test rows in the prediction after a task.

Of the mixture over hypotheses, in nats per row, as in `log_predictive`, which is of rows to come.
Of targets as the learner sees them, which a stream may have scaled; `test_log_likelihood` is in
the units of the data.
"""

from __future__ import annotations

import numpy as np

from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Categorical, Predictive
from shiftbench.evaluation.metrics import log_predictive

STAGE = "after"
UNIT = "nats per row of the scaled target"
HIGHER_IS_BETTER = True
TAKES = ("value", "number", "design", "designs")
JUDGES = ("gaussian", "student-t")
REQUIRES = ("tests",)


def score(predictive: Predictive, batch: Batch) -> np.ndarray:
    """Mean log predictive density [S]; UserError for a classification."""
    if isinstance(predictive, Categorical):
        raise UserError(
            "metric test_log_density needs a stream of real values, but the predictions are class "
            "probabilities; take nll into this study's metrics instead"
        )
    return log_predictive.score(predictive, batch)

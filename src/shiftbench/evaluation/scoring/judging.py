"""Scores of predictions by metrics that can judge such predictions."""

from __future__ import annotations

import numpy as np

from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Categorical, Gaussian, Predictive, StudentT
from shiftbench.core.metric import Metric

CLASSES = {
    "categorical": Categorical,
    "gaussian": Gaussian,
    "student-t": StudentT,
    "score": Gaussian,
}
"""Predictions that a metric says it judges, and their classes."""


def judge(metric: Metric, predictive: Predictive, batch: Batch) -> np.ndarray:
    """Return the scores [S]; UserError where the metric does not judge such predictions."""
    judged = {CLASSES[word] for word in metric.judges if word in CLASSES}
    if judged and not isinstance(predictive, tuple(judged)):
        wanted = "class labels" if judged == {Categorical} else "real values"
        raise UserError(
            f"metric {metric.name} needs a stream of {wanted}, and predictions of the kind"
            f" {' or '.join(metric.judges)}, but these are {type(predictive).__name__}; take"
            f" {metric.name}, or the learners that predict so, out of this study"
        )
    return metric.score(predictive, batch)

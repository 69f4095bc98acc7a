"""The error of predicted classes before a row is learnt from."""

from __future__ import annotations

import numpy as np

from shiftbench.core.interface import Batch, Categorical, Gaussian
from shiftbench.core.metric import Metric
from shiftbench.evaluation.metrics._masked_mean import masked_mean


def error(predictive: Categorical | Gaussian, batch: Batch) -> np.ndarray:
    """Return the share [S] of the rows whose label was not predicted.

    A mixture of class probabilities predicts its most probable class, the first of equal ones. A
    mixture of scores of two classes predicts class 1 if its mean score is above 0.
    """
    if isinstance(predictive, Categorical):
        label = predictive.mixture.argmax(axis=-1)
    else:
        weights = np.exp(predictive.log_weights)
        label = np.einsum("sh,shn->sn", weights, predictive.mean[..., 0]) > 0
    return masked_mean(label != batch.targets, batch.mask)


METRICS = [
    Metric(
        "prequential_error",
        about="Share of the rows whose class was not predicted before they were learnt.",
        unit="fraction",
        bounds=(0.0, 1.0),
        better="lower",
        stage="before",
        takes=("two-classes", "classes"),
        judges=("categorical", "score"),
        score=error,
    ),
]

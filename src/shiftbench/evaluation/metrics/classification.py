"""Metrics of class probabilities on the test rows of a task, after it was learnt.

Classes are scored by the mean of the hypotheses' probabilities, weighted (li2021vbs, C.2). Of
equally probable classes the first counts.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from shiftbench.core.interface import Batch, Categorical
from shiftbench.core.metric import Metric
from shiftbench.evaluation.metrics._masked_mean import masked_mean
from shiftbench.evaluation.scoring.calibration_error import calibration_error

SMALLEST = float(np.finfo(np.float32).tiny)
"""The smallest normal 32-bit number, 87.3 nats: a network's softmax rounds what is below to 0."""


def accuracy(predictive: Categorical, batch: Batch) -> np.ndarray:
    """Return the accuracy [S] of the mixture."""
    return masked_mean(predictive.mixture.argmax(axis=-1) == batch.targets, batch.mask)


def accuracy_first_hypothesis(predictive: Categorical, batch: Batch) -> np.ndarray:
    """Return the accuracy [S] of the hypothesis with the largest weight.

    "1st hyp." in Table 1 of li2021vbs; `accuracy` for a learner with one hypothesis.
    """
    first = predictive.log_weights.argmax(axis=1)
    probabilities = predictive.probabilities[np.arange(len(first)), first]
    return masked_mean(probabilities.argmax(axis=-1) == batch.targets, batch.mask)


def nll(predictive: Categorical, batch: Batch) -> np.ndarray:
    """Return the mean negative log probability [S] of the true class; SMALLEST keeps it finite."""
    labels = np.where(batch.mask, batch.targets, 0)[..., None]
    true = np.take_along_axis(predictive.mixture, labels, axis=-1)[..., 0]
    return masked_mean(-np.log(np.maximum(true, SMALLEST)), batch.mask)


def ece(predictive: Categorical, batch: Batch) -> np.ndarray:
    """Return the expected calibration error [S] (Guo et al. 2017, Eq. 3); NaN without rows.

    Confidence is the probability of the most probable class. The bins are (0, 1/15], ...,
    (14/15, 1]. Biased upwards when rows are few.
    """
    probabilities = predictive.mixture
    confidence = probabilities.max(axis=-1)
    correct = probabilities.argmax(axis=-1) == batch.targets
    return np.array(
        [
            calibration_error(confidence[s][mask], correct[s][mask])
            for s, mask in enumerate(batch.mask)
        ]
    )


OfClasses = partial(Metric, stage="after", judges=("categorical",), requires=("tests",))
METRICS = [
    OfClasses(
        "accuracy",
        about="Share of test rows whose most probable class, in the mixture of hypotheses,"
        " is right.",
        unit="fraction",
        bounds=(0.0, 1.0),
        better="higher",
        score=accuracy,
    ),
    OfClasses(
        "accuracy_first_hypothesis",
        about="Share of test rows that the most likely hypothesis alone classifies correctly.",
        unit="fraction",
        bounds=(0.0, 1.0),
        better="higher",
        score=accuracy_first_hypothesis,
    ),
    OfClasses(
        "nll",
        about="Mean negative log probability of the true class, in the mixture of hypotheses.",
        unit="nats per example",
        bounds=(0.0, None),
        better="lower",
        score=nll,
    ),
    OfClasses(
        "ece",
        about="Expected calibration error: mean distance of confidence and accuracy over 15 bins.",
        unit="fraction",
        bounds=(0.0, 1.0),
        better="lower",
        score=ece,
    ),
]

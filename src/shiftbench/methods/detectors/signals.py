"""Signals of a learner's errors: one number for each row, from its prediction and its target.

A prediction is a mixture over hypotheses; moments and densities are those of the mixture.

========== ================================ ====================================================
signal     classes                          real targets
========== ================================ ====================================================
error      1 where another class is more    target minus mean, averaged over targets
           probable, else 0
squared    Brier score, 0 to 2              squared error, averaged over targets
standard-  none                             error in standard deviations of the prediction, summed
ised                                        over targets and divided by the root of their number
score      minus log probability, nats      minus log density, nats
========== ================================ ====================================================

The standard deviation of a Student's t is that of at least THINNEST degrees of freedom, as it is
infinite at 2. A real score of two classes, as online learners give, has only an `error`.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numba import njit

from shiftbench.core.interface import (
    Batch,
    Categorical,
    Gaussian,
    LearnerError,
    Predictive,
    StudentT,
)
from shiftbench.methods.posteriors import student_t

Kind = Literal["error", "squared", "standardised", "score"]
THINNEST = 3.0
LEAST = 1e-12
"""Smallest probability of a class in a score."""


def of(kind: Kind, predictive: Predictive, batch: Batch) -> np.ndarray:
    """Return the signal [S, n] of rows that were predicted; rows that are not seen have any value.

    Raises LearnerError if a prediction has no such signal, or the signal of a seen row is not
    finite.
    """
    if isinstance(predictive, Categorical):
        signal = _of_classes(kind, predictive, batch.targets)
    elif batch.targets.ndim == 2:
        signal = _of_scores(kind, predictive, batch.targets)
    else:
        signal = _of_targets(kind, predictive, np.asarray(batch.targets, float))
    if not np.isfinite(signal[batch.mask]).all():
        raise LearnerError(
            f"detect: the {kind} of a row is not finite, as the learner's prediction has broken"
            " down; lower its learning rate, or leave the row out of the stream"
        )
    return signal


def _mixed(log_weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the means over hypotheses [S, n, ...] of values [S, H, n, ...].

    Hypotheses are added in their order, so that the sum does not depend on the number of rows.
    """
    weights = np.exp(log_weights).reshape(*log_weights.shape, *[1] * (values.ndim - 2))
    total = weights[:, 0] * values[:, 0]
    for h in range(1, values.shape[1]):
        total = total + weights[:, h] * values[:, h]
    return total


def _of_classes(kind: Kind, predictive: Categorical, labels: np.ndarray) -> np.ndarray:
    """Return a signal [S, n] of class probabilities."""
    p = _mixed(predictive.log_weights, np.asarray(predictive.probabilities, float))
    if kind == "error":
        return (p.argmax(axis=-1) != labels).astype(float)
    # A masked row may have any label.
    known = np.clip(labels, 0, p.shape[-1] - 1)[..., None]
    of_label = np.take_along_axis(p, known, axis=-1)[..., 0]
    if kind == "squared":
        return (p * p).sum(axis=-1) - 2 * of_label + 1
    if kind == "score":
        return -np.log(np.maximum(of_label, LEAST))
    raise LearnerError(
        "detect: signal standardised needs real targets, and the stream has classes; take signal"
        " error, squared or score"
    )


def _of_scores(kind: Kind, predictive: Gaussian | StudentT, labels: np.ndarray) -> np.ndarray:
    """Return whether the sign of a real score is that of the other of two classes, [S, n]."""
    if kind != "error":
        raise LearnerError(
            f"detect: the learner predicts classes by a real score, which has no signal {kind};"
            " take signal: error"
        )
    score = _mixed(predictive.log_weights, predictive.mean)[..., 0]
    return ((score > 0) != (labels > 0)).astype(float)


def _of_targets(kind: Kind, predictive: Gaussian | StudentT, targets: np.ndarray) -> np.ndarray:
    """Return a signal [S, n] of real targets [S, n, d]."""
    if kind == "score":
        return -_log_density(predictive, targets)
    mean = _mixed(predictive.log_weights, predictive.mean)
    error, d = targets - mean, targets.shape[-1]
    if kind == "error":
        return error.sum(axis=-1) / d
    if kind == "squared":
        return (error * error).sum(axis=-1) / d
    within = predictive.variance if isinstance(predictive, Gaussian) else _variance(predictive)
    between = predictive.mean - mean[:, None]
    variance = _mixed(predictive.log_weights, within + between * between)
    return (error / np.sqrt(variance)).sum(axis=-1) / math.sqrt(d)


def _variance(predictive: StudentT) -> np.ndarray:
    """Return the variances [S, H, n, d]."""
    df = np.maximum(predictive.df, THINNEST)
    diagonal = np.diagonal(predictive.scale, axis1=-2, axis2=-1)
    return diagonal * (df / (df - 2))[..., None, None]


def _log_density(predictive: Gaussian | StudentT, targets: np.ndarray) -> np.ndarray:
    """Return the log density [S, n] of the mixture."""
    error = targets[:, None] - predictive.mean
    if isinstance(predictive, Gaussian):
        of_target = np.log(2 * math.pi * predictive.variance) + error**2 / predictive.variance
        each = -0.5 * of_target.sum(axis=-1)
    else:
        log_det = np.linalg.slogdet(predictive.scale)[1]
        scaled = np.linalg.solve(predictive.scale, error[..., None])[..., 0]
        excess = (scaled * error).sum(axis=-1) / predictive.df[..., None]
        each = np.empty(error.shape[:3])
        _student_t(predictive.df, error.shape[3], log_det, excess, each)
    largest = each.max(axis=1)
    relative = np.exp(each - largest[:, None])
    return largest + np.log(_mixed(predictive.log_weights, relative))


@njit(cache=True, error_model="numpy")
def _student_t(df, d, log_det, excess, out):
    """Set out [S, H, n] to log densities; df [S, H], log_det and excess [S, H, n]."""
    for s in range(out.shape[0]):
        for h in range(out.shape[1]):
            for i in range(out.shape[2]):
                out[s, h, i] = student_t.log_density(df[s, h], d, log_det[s, h, i], excess[s, h, i])

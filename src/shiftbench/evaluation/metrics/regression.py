"""Metrics of predicted real values, before a task is learnt from and on test rows after it.

The prediction is the mixture over hypotheses. Targets are as the learner sees them, which a
stream may have scaled; `rmse` and `test_log_likelihood` in `derived` are in the units of the data.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, logsumexp

from shiftbench.core.interface import Batch, Gaussian, StudentT
from shiftbench.core.metric import Metric
from shiftbench.evaluation.metrics._masked_mean import masked_mean


def absolute_error(predictive: Gaussian | StudentT, batch: Batch) -> np.ndarray:
    """Return the mean absolute error [S]."""
    return masked_mean(np.abs(_error(predictive, batch)).mean(axis=-1), batch.mask)


def squared_error(predictive: Gaussian | StudentT, batch: Batch) -> np.ndarray:
    """Return the mean squared error [S]."""
    return masked_mean((_error(predictive, batch) ** 2).mean(axis=-1), batch.mask)


def log_density(predictive: Gaussian | StudentT, batch: Batch) -> np.ndarray:
    """Return the mean log density [S] of rows, in nats.

    The targets of one row are independent given the hypothesis in a Gaussian mixture; in a
    mixture of Student's t distributions they have one joint density.
    """
    targets = np.where(batch.mask[..., None], batch.targets, 0.0)[:, None]
    of_kind = _gaussian if isinstance(predictive, Gaussian) else _student_t
    density = of_kind(predictive, targets) + predictive.log_weights[..., None]
    return masked_mean(logsumexp(density, axis=1), batch.mask)


def _error(predictive: Gaussian | StudentT, batch: Batch) -> np.ndarray:
    """Return predicted minus observed values [S, n, d]; 0 in masked rows."""
    mean = np.einsum("sh,shnd->snd", np.exp(predictive.log_weights), predictive.mean)
    return np.where(batch.mask[..., None], mean - batch.targets, 0.0)


def _gaussian(predictive: Gaussian, targets: np.ndarray) -> np.ndarray:
    """Return log densities [S, H, n] of the rows under each hypothesis."""
    squared = (targets - predictive.mean) ** 2 / predictive.variance
    return -0.5 * (np.log(2 * np.pi * predictive.variance) + squared).sum(axis=-1)


def _student_t(predictive: StudentT, targets: np.ndarray) -> np.ndarray:
    """Return log densities [S, H, n] of the rows under each hypothesis."""
    d, df = targets.shape[-1], predictive.df[..., None]
    root = np.linalg.cholesky(predictive.scale)
    white = np.linalg.solve(root, (targets - predictive.mean)[..., None])[..., 0]
    half_log_det = np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(axis=-1)
    constant = gammaln((df + d) / 2) - gammaln(df / 2) - d / 2 * np.log(df * np.pi)
    tail = (df + d) / 2 * np.log1p((white**2).sum(axis=-1) / df)
    return constant - half_log_det - tail


REALS = ("value", "number", "design", "designs")
DENSITIES = ("gaussian", "student-t")
METRICS = [
    Metric(
        "absolute_error",
        about="Absolute error of the one-step-ahead prediction, mean over rows and targets"
        " (prequential).",
        unit="unit of the series",
        bounds=(0.0, None),
        better="lower",
        stage="before",
        takes=REALS,
        judges=(*DENSITIES, "score"),
        score=absolute_error,
    ),
    Metric(
        "squared_error",
        about="Squared error of the one-step-ahead prediction, mean over rows and targets"
        " (prequential).",
        unit="squared unit of the series",
        bounds=(0.0, None),
        better="lower",
        stage="before",
        takes=REALS,
        judges=(*DENSITIES, "score"),
        score=squared_error,
    ),
    Metric(
        "test_squared_error",
        about="Squared error on test rows of the prediction after a task, mean over rows and"
        " targets.",
        unit="squared unit of the scaled target",
        bounds=(0.0, None),
        better="lower",
        stage="after",
        takes=REALS,
        requires=("tests",),
        judges=(*DENSITIES, "score"),
        score=squared_error,
    ),
    Metric(
        "log_predictive",
        about="Mean log density of each observation before it is learnt from (prequential).",
        unit="nats per observation",
        better="higher",
        stage="before",
        judges=DENSITIES,
        score=log_density,
    ),
    Metric(
        "test_log_density",
        about="Mean log density of test rows in the prediction after a task.",
        unit="nats per row of the scaled target",
        better="higher",
        stage="after",
        takes=REALS,
        requires=("tests",),
        judges=DENSITIES,
        score=log_density,
    ),
]

"""Metrics of predictive distributions of real values, before a task is learnt from.

The prediction is the mixture over hypotheses. Targets are as the learner sees them, which a stream
may have scaled. Several targets of a row are judged each by its marginal distribution, and their
mean is taken, except in `energy_score`, which judges them together.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Gaussian, StudentT
from shiftbench.core.metric import Metric
from shiftbench.evaluation.metrics._masked_mean import masked_mean
from shiftbench.evaluation.scoring import crps, energy_score
from shiftbench.evaluation.scoring.marginals import Marginals

INTERVAL = 0.9
"""Probability of the interval of `interval_score`."""


def interval_coverage(predictive: Gaussian | StudentT, batch: Batch, *, level: float) -> np.ndarray:
    """Return the share of values [S] within their central predictive interval.

    `level` where predictions are calibrated. Lower: the predicted noise is too small, or changes
    are missed; higher: it is too large. Each target of a row has an interval of its own.
    """
    below = Marginals.of(predictive).cumulative(_targets(batch))
    return masked_mean((np.abs(below - 0.5) <= level / 2).mean(axis=-1), batch.mask)


def mean_crps(predictive: Gaussian | StudentT, batch: Batch) -> np.ndarray:
    """Return the mean continuous ranked probability score [S]; see `scoring.crps`."""
    scores = crps.crps(Marginals.of(predictive), _targets(batch), batch.mask)
    return masked_mean(scores.mean(axis=-1), batch.mask)


def mean_interval_score(
    predictive: Gaussian | StudentT, batch: Batch, *, level: float
) -> np.ndarray:
    """Return the mean score [S] of central intervals of probability `level`."""
    scores = crps.interval_score(Marginals.of(predictive), _targets(batch), batch.mask, level)
    return masked_mean(scores.mean(axis=-1), batch.mask)


def mean_energy_score(predictive: Gaussian | StudentT, batch: Batch) -> np.ndarray:
    """Return the mean energy score [S]: CRPS for one target a row, by draws for several."""
    if batch.targets.shape[-1] == 1:
        return mean_crps(predictive, batch)
    scores = energy_score.energy_score(predictive, _targets(batch), batch.mask)
    return masked_mean(scores, batch.mask)


def first_pit(predictive: Gaussian | StudentT, batch: Batch) -> np.ndarray:
    """Return the probability integral transform [S] of the first value of a task.

    It is the predicted probability of values below the first target of the first unmasked row. All
    rows of a task are predicted from the same past, so one of them represents the task.
    """
    below = Marginals.of(predictive).cumulative(_targets(batch))[..., 0]
    first = below[np.arange(len(below)), batch.mask.argmax(axis=1)]
    return np.where(batch.mask.any(axis=1), first, np.nan)


def mean_correlation(predictive: Gaussian | StudentT, batch: Batch) -> np.ndarray:
    """Return the predicted correlation [S] of two targets of a row, mean over pairs and rows.

    It is the correlation of the mixture, computed from the covariances of its components. NaN
    where a component of positive weight has no covariance, as a Student's t with df <= 2. UserError
    for one target a row.
    """
    d = batch.targets.shape[-1]
    if d == 1:
        raise UserError(
            "predicted_correlation needs several targets a row, but the stream has one; take it"
            " out of this study, or give it a stream of several series"
        )
    weight, mean = np.exp(predictive.log_weights), predictive.mean
    off = mean - np.einsum("sh,shnd->snd", weight, mean)[:, None]
    own = np.where(weight[..., None, None, None] > 0, _covariance(predictive), 0.0)
    covariance = np.einsum("sh,shnij->snij", weight, own + off[..., None] * off[..., None, :])
    sd = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
    correlation = covariance / (sd[..., None] * sd[..., None, :])
    return masked_mean(correlation[..., *np.triu_indices(d, 1)].mean(axis=-1), batch.mask)


def _covariance(predictive: Gaussian | StudentT) -> np.ndarray:
    """Return the covariance [S, H, n, d, d] of each component, NaN where it has none."""
    if isinstance(predictive, Gaussian):
        return predictive.variance[..., None] * np.eye(predictive.variance.shape[-1])
    df = np.where(predictive.df > 2, predictive.df, np.nan)
    return (df / (df - 2))[..., None, None, None] * predictive.scale


def _targets(batch: Batch) -> np.ndarray:
    """Return the targets, 0 in masked rows."""
    return np.where(batch.mask[..., None], batch.targets, 0.0)


REALS = ("value", "number", "design", "designs")
DENSITIES = ("gaussian", "student-t")
METRICS = [
    Metric(
        "interval_coverage",
        about="Share of values within the central 95 % predictive interval before they are learnt"
        " (prequential).",
        unit="fraction",
        bounds=(0.0, 1.0),
        better=None,
        stage="before",
        takes=REALS,
        judges=DENSITIES,
        score=partial(interval_coverage, level=0.95),
    ),
    Metric(
        "coverage_50",
        about="Share of values within the central 50 % predictive interval before they are learnt"
        " (prequential).",
        unit="fraction",
        bounds=(0.0, 1.0),
        better=None,
        stage="before",
        takes=REALS,
        judges=DENSITIES,
        score=partial(interval_coverage, level=0.5),
    ),
    Metric(
        "coverage_90",
        about="Share of values within the central 90 % predictive interval before they are learnt"
        " (prequential).",
        unit="fraction",
        bounds=(0.0, 1.0),
        better=None,
        stage="before",
        takes=REALS,
        judges=DENSITIES,
        score=partial(interval_coverage, level=0.9),
    ),
    Metric(
        "crps",
        about="Continuous ranked probability score of each value before it is learnt"
        " (prequential): the absolute error, of a distribution.",
        unit="unit of the series",
        bounds=(0.0, None),
        better="lower",
        stage="before",
        takes=REALS,
        judges=DENSITIES,
        score=mean_crps,
    ),
    Metric(
        "interval_score",
        about="Width of the central 90 % predictive interval, plus 20 times the distance of values"
        " outside (prequential).",
        unit="unit of the series",
        bounds=(0.0, None),
        better="lower",
        stage="before",
        takes=REALS,
        judges=DENSITIES,
        score=partial(mean_interval_score, level=INTERVAL),
    ),
    Metric(
        "energy_score",
        about="CRPS of vectors: distance of draws from the targets of a row, less half the"
        " distance between draws, of which there are 200 (prequential).",
        unit="unit of the series",
        better="lower",
        stage="before",
        takes=REALS,
        judges=DENSITIES,
        score=mean_energy_score,
    ),
    Metric(
        "pit",
        about="Predicted probability of smaller values than the first of each task (probability"
        " integral transform): uniform on 0..1 where predictions are calibrated.",
        unit="fraction",
        bounds=(0.0, 1.0),
        better=None,
        stage="before",
        takes=REALS,
        judges=DENSITIES,
        score=first_pit,
    ),
    Metric(
        "predicted_correlation",
        about="Correlation of two series in the prediction of their next values, mean over pairs.",
        unit="1",
        bounds=(-1.0, 1.0),
        better=None,
        stage="before",
        takes=REALS,
        requires=("series",),
        judges=DENSITIES,
        score=mean_correlation,
    ),
]

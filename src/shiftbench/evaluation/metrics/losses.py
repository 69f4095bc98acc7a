"""Losses of predicted scores before a row is learnt from: hinge, squared, and of a share.

Hinge for two classes (labels 0 and 1 are -1 and +1, the predictive is of the score), squared for
one real value, both from cherief2019online; li2021vbs predicts the log-odds of a share.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from shiftbench.core import log_odds
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Gaussian
from shiftbench.core.metric import Metric
from shiftbench.evaluation.metrics._masked_mean import masked_mean
from shiftbench.methods.online.losses import Loss


def mean_loss(predictive: Gaussian, batch: Batch) -> np.ndarray:
    """Return the loss l_t(m_t) [S] of the mean over hypotheses.

    Its mean over the tasks up to t is the average cumulative loss that cherief2019online plots.
    """
    scores = _scores(predictive)
    loss, targets = _loss_and_targets(batch)
    mean = np.einsum("sh,shn->sn", np.exp(scores.log_weights), scores.mean[..., 0])
    return masked_mean(loss.value(targets, mean), batch.mask)


def mean_expected_loss(predictive: Gaussian, batch: Batch) -> np.ndarray:
    """Return the expected loss E_q[l_t] [S], exact for a mixture of Gaussian scores.

    It is the left side of the regret bounds of cherief2019online, and by Jensen never below
    `mean_loss`.
    """
    scores = _scores(predictive)
    loss, targets = _loss_and_targets(batch)
    spread = np.sqrt(scores.variance[..., 0])
    expected = loss.expected(targets[:, None], scores.mean[..., 0], spread).value
    mixed = np.einsum("sh,shn->sn", np.exp(scores.log_weights), expected)
    return masked_mean(mixed, batch.mask)


def share_error(predictive: Gaussian, batch: Batch) -> np.ndarray:
    """Return the mean absolute error [S] of the share whose log-odds were predicted.

    The prediction is the mean of the most likely hypothesis, as in the public code of li2021vbs
    (version of NeurIPS 2021).
    """
    scores = _scores(predictive)
    first = np.arange(len(scores.mean)), scores.log_weights.argmax(axis=1)
    predicted, observed = expit(scores.mean[first]), log_odds.share(batch.targets)
    return masked_mean(np.abs(predicted - observed)[..., 0], batch.mask)


def _scores(predictive: Gaussian) -> Gaussian:
    """Return the predictive; UserError if it has several targets a row."""
    if predictive.mean.shape[3] != 1:
        raise UserError(
            "average cumulative losses and share_error need learners that predict one real score a"
            " row, such as svb; take these metrics, or the other learners, out of this study"
        )
    return predictive


def _loss_and_targets(batch: Batch) -> tuple[Loss, np.ndarray]:
    """Return the loss for these targets, and the targets [S, n] as it takes them."""
    if batch.targets.dtype.kind in "iu":
        return Loss("hinge"), 2.0 * batch.targets - 1.0
    return Loss("squared"), batch.targets.reshape(batch.mask.shape)


METRICS = [
    Metric(
        "average_cumulative_loss",
        about="Loss of the predicted score, averaged over all rows so far: l_t(m_t), prequential.",
        unit="loss per observation",
        bounds=(0.0, None),
        better="lower",
        stage="before",
        takes=("two-classes", "number", "value"),
        judges=("score", "gaussian"),
        score=mean_loss,
    ),
    Metric(
        "average_cumulative_expected_loss",
        about="Expected loss under the posterior, averaged over all rows so far: E_q[l_t],"
        " prequential.",
        unit="loss per observation",
        bounds=(0.0, None),
        better="lower",
        stage="before",
        takes=("two-classes", "number", "value"),
        judges=("score", "gaussian"),
        score=mean_expected_loss,
    ),
    Metric(
        "share_error",
        about="Absolute error of a share that is learnt as its log-odds, mean over rows"
        " (prequential).",
        unit="share",
        bounds=(0.0, 1.0),
        better="lower",
        stage="before",
        takes=("number",),
        requires=("log-odds",),
        judges=("gaussian",),
        score=share_error,
    ),
]

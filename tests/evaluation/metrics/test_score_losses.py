"""The prequential losses of mixtures of scores, against sampling and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.config import components
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Categorical, Gaussian
from shiftbench.evaluation.scoring import judging

average_cumulative_expected_loss = components.load_metric("average_cumulative_expected_loss")
average_cumulative_loss = components.load_metric("average_cumulative_loss")

RANDOM = np.random.default_rng(0)
WEIGHTS = RANDOM.dirichlet(np.ones(3), 2)
MEAN, VARIANCE = RANDOM.normal(size=(2, 3, 4, 1)), RANDOM.gamma(2.0, size=(2, 3, 4, 1))
PREDICTIVE = Gaussian(np.log(WEIGHTS), MEAN, VARIANCE)
MASK = np.array([[True] * 4, [True, True, False, False]])
LABELS = np.array([[0, 1, 1, 0], [1, 0, 7, 7]])
REALS = RANDOM.normal(size=(2, 4, 1))
CASES = [
    (LABELS, lambda z: np.maximum(1 - (2.0 * LABELS - 1) * z, 0)),
    (REALS, lambda z: (REALS[..., 0] - z) ** 2),
]


def batch(targets):
    return Batch(np.zeros((2, 4, 1)), targets, MASK)


@pytest.mark.parametrize(("targets", "loss"), CASES, ids=["hinge", "squared"])
def test_loss_is_that_of_the_mixtures_mean(targets, loss):
    each = loss(np.einsum("sh,shn->sn", WEIGHTS, MEAN[..., 0]))
    scored = average_cumulative_loss.score(PREDICTIVE, batch(targets))
    np.testing.assert_allclose(scored, [each[0].mean(), each[1, :2].mean()])


@pytest.mark.parametrize(("targets", "loss"), CASES, ids=["hinge", "squared"])
def test_expected_loss_equals_sampling(targets, loss):
    n = 40_000
    slot = (RANDOM.random((n, 2, 1)) > WEIGHTS.cumsum(axis=1)).sum(axis=2)
    repetition = np.arange(2)
    noise = RANDOM.normal(size=(n, 2, 4))
    mean, variance = MEAN[repetition, slot, :, 0], VARIANCE[repetition, slot, :, 0]
    each = loss(mean + noise * np.sqrt(variance))
    sampled = np.stack([each[:, 0].mean(axis=1), each[:, 1, :2].mean(axis=1)], axis=1)
    error = sampled.std(axis=0) / np.sqrt(n)
    scored = average_cumulative_expected_loss.score(PREDICTIVE, batch(targets))
    assert (np.abs(scored - sampled.mean(axis=0)) < 4 * error).all()
    assert (scored >= average_cumulative_loss.score(PREDICTIVE, batch(targets))).all()


@pytest.mark.parametrize("metric", [average_cumulative_loss, average_cumulative_expected_loss])
def test_class_probabilities_are_refused(metric):
    predictive = Categorical(np.zeros((2, 1)), np.ones((2, 1, 4, 1)))
    with pytest.raises(UserError, match=r"average_cumulative.*needs a stream of real values"):
        judging.judge(metric, predictive, batch(LABELS))

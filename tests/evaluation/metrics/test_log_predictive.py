"""The prequential log density against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from shiftbench.config import components
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Categorical, Gaussian, StudentT
from shiftbench.evaluation.scoring import judging

log_predictive = components.load_metric("log_predictive")


def test_mixture_of_products_of_normals():
    random = np.random.default_rng(0)
    mean, variance = random.normal(size=(2, 3, 4, 2)), random.gamma(2.0, size=(2, 3, 4, 2))
    weights, targets = random.dirichlet(np.ones(3), 2), random.normal(size=(2, 4, 2))
    mask = np.array([[True] * 4, [True, True, False, False]])
    targets[1, 2:] = np.nan
    scored = log_predictive.score(
        Gaussian(np.log(weights), mean, variance), Batch(np.zeros((2, 4, 0)), targets, mask)
    )
    for s, rows in enumerate((4, 2)):
        density = stats.norm.pdf(
            targets[s, None, :rows], mean[s, :, :rows], variance[s, :, :rows] ** 0.5
        )
        expected = np.log(weights[s] @ density.prod(-1)).mean()
        assert scored[s] == pytest.approx(expected)


def test_mixture_of_joint_student_t():
    random = np.random.default_rng(1)
    mean, targets = random.normal(size=(2, 3, 4, 5)), random.normal(size=(2, 4, 5))
    roots = random.normal(size=(2, 3, 4, 5, 5))
    scale, df = roots @ roots.swapaxes(-1, -2) + np.eye(5), 0.5 + random.gamma(2.0, size=(2, 3))
    weights, mask = random.dirichlet(np.ones(3), 2), np.array([[True] * 4, [True, False] * 2])
    targets[1, 1::2] = np.nan
    scored = log_predictive.score(
        StudentT(np.log(weights), mean, scale, df), Batch(np.zeros((2, 4, 0)), targets, mask)
    )
    for s in range(2):
        density = [
            sum(
                weights[s, h]
                * stats.multivariate_t.pdf(targets[s, i], mean[s, h, i], scale[s, h, i], df[s, h])
                for h in range(3)
            )
            for i in np.flatnonzero(mask[s])
        ]
        assert scored[s] == pytest.approx(np.log(density).mean())


def test_student_t_in_one_dimension_and_far_away():
    batch = Batch(np.zeros((1, 1, 0)), np.full((1, 1, 1), 1e12), np.ones((1, 1), bool))
    shape = (1, 1, 1, 1)
    one = StudentT(np.zeros((1, 1)), np.zeros(shape), np.full((*shape, 1), 4.0), np.full((1, 1), 3))
    assert log_predictive.score(one, batch) == pytest.approx(stats.t.logpdf(1e12, 3, scale=2))


def test_class_probabilities_are_refused():
    predictive = Categorical(np.zeros((1, 1)), np.ones((1, 1, 1, 1)))
    with pytest.raises(UserError, match="log_predictive"):
        judging.judge(
            log_predictive,
            predictive,
            Batch(np.zeros((1, 1, 0)), np.zeros((1, 1)), np.ones((1, 1))),
        )

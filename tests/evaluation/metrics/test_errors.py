"""Squared and absolute error of the mixture's mean, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.config import components
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Categorical, Gaussian
from shiftbench.evaluation.scoring import judging

absolute_error = components.load_metric("absolute_error")
squared_error = components.load_metric("squared_error")


def test_errors_are_those_of_the_mixtures_mean():
    random = np.random.default_rng(0)
    mean, targets = random.normal(size=(2, 3, 4, 5)), random.normal(size=(2, 4, 5))
    weights = random.dirichlet(np.ones(3), 2)
    weights[1] = [1, 0, 0]
    mask = np.array([[True] * 4, [True, True, False, False]])
    targets[1, 2:] = np.nan
    with np.errstate(divide="ignore"):
        predictive = Gaussian(np.log(weights), mean, np.ones_like(mean))
    batch = Batch(np.zeros((2, 4, 0)), targets, mask)
    for s, rows in enumerate((4, 2)):
        error = sum(w * m[:rows] for w, m in zip(weights[s], mean[s], strict=True))
        error = error - targets[s, :rows]
        assert squared_error.score(predictive, batch)[s] == pytest.approx(np.mean(error**2))
        assert absolute_error.score(predictive, batch)[s] == pytest.approx(np.mean(abs(error)))


def test_every_forecast_meets_its_own_value_only():
    """The authors' code takes differences of all pairs, which do not measure a forecast."""
    mean = np.arange(5.0).reshape(1, 1, 5, 1)
    batch = Batch(np.zeros((1, 5, 0)), mean[:, 0], np.ones((1, 5), bool))
    exact = Gaussian(np.zeros((1, 1)), mean, np.ones_like(mean))
    assert squared_error.score(exact, batch) == absolute_error.score(exact, batch) == 0


@pytest.mark.parametrize(
    "name", ["squared_error", "absolute_error", "test_squared_error", "test_log_density"]
)
def test_class_probabilities_are_refused(name):
    predictive = Categorical(np.zeros((1, 1)), np.ones((1, 1, 1, 1)))
    batch = Batch(np.zeros((1, 1, 0)), np.zeros((1, 1)), np.ones((1, 1)))
    with pytest.raises(UserError, match=name):
        judging.judge(components.load_metric(name), predictive, batch)

"""Metrics of class probabilities against hand-computed values and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss

from shiftbench.config import components
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Categorical, Gaussian
from shiftbench.evaluation.scoring import judging

accuracy = components.load_metric("accuracy")
accuracy_first_hypothesis = components.load_metric("accuracy_first_hypothesis")
ece = components.load_metric("ece")
nll = components.load_metric("nll")

METRICS = (accuracy, accuracy_first_hypothesis, nll, ece)


def batch(targets, mask=None):
    targets = np.asarray(targets)
    mask = np.ones(targets.shape, bool) if mask is None else np.asarray(mask)
    return Batch(np.zeros((*targets.shape, 1)), targets, mask)


def mixture(weights, probabilities):
    return Categorical(np.log(np.asarray(weights)), np.asarray(probabilities, dtype=float))


@pytest.fixture
def random_case():
    random = np.random.default_rng(3)
    probabilities = random.dirichlet(np.ones(4), (2, 3, 50))
    weights = random.dirichlet(np.ones(3), 2)
    return mixture(weights, probabilities), batch(random.integers(0, 4, (2, 50)))


def test_accuracy_and_nll_equal_sklearn_on_the_mixture(random_case):
    predictive, data = random_case
    mixed = (np.exp(predictive.log_weights)[:, :, None, None] * predictive.probabilities).sum(1)
    for s in range(2):
        expected = accuracy_score(data.targets[s], mixed[s].argmax(-1))
        assert accuracy.score(predictive, data)[s] == pytest.approx(expected)
        expected = log_loss(data.targets[s], mixed[s], labels=range(4))
        assert nll.score(predictive, data)[s] == pytest.approx(expected)


def test_the_first_hypothesis_is_the_one_with_the_largest_weight():
    predictive = mixture([[0.4, 0.6]], [[[[0.99, 0.01]], [[0.45, 0.55]]]])
    assert accuracy_first_hypothesis.score(predictive, batch([[1]])) == 1.0
    assert accuracy.score(predictive, batch([[1]])) == 0.0


def test_masked_rows_have_no_effect(random_case):
    predictive, data = random_case
    mask = np.arange(50) < np.array([[50], [30]])
    short = Categorical(predictive.log_weights, predictive.probabilities[:, :, :30])
    broken = Categorical(predictive.log_weights, predictive.probabilities.copy())
    broken.probabilities[1, :, 30:] = np.nan
    targets = np.where(mask, data.targets, -1)
    for metric in METRICS:
        expected = metric.score(short, batch(data.targets[:, :30]))[1]
        scored = metric.score(broken, Batch(data.inputs, targets, mask))
        assert scored[1] == pytest.approx(expected)
        assert scored[0] == pytest.approx(metric.score(predictive, data)[0])


def test_without_rows_there_is_no_score(random_case):
    predictive, data = random_case
    for metric in METRICS:
        none = batch(data.targets, np.zeros(data.targets.shape, bool))
        assert np.isnan(metric.score(predictive, none)).all()


def test_calibration_error_by_hand():
    # Three rows in the bin (8/15, 9/15] have confidence .6, one is correct; so is the last row.
    probabilities = [[[[0.6, 0.4]] * 3 + [[0.0, 1.0]]]]
    scored = ece.score(mixture([[1.0]], probabilities), batch([[0, 1, 1, 1]]))
    assert scored == pytest.approx([3 / 4 * abs(1 / 3 - 0.6) + 0])


@pytest.mark.filterwarnings("error")
def test_a_network_that_diverged_has_no_calibration_error():
    lost = mixture([[1.0]], [[[[np.nan, np.nan]] * 3]])
    assert np.isnan(ece.score(lost, batch([[0, 1, 1]]))).all()


def test_a_calibrated_predictor_has_almost_no_calibration_error():
    random = np.random.default_rng(0)
    probabilities = random.dirichlet(np.ones(3), (1, 1, 100_000))
    targets = (random.random((1, 100_000, 1)) > probabilities[:, 0].cumsum(-1)).sum(-1)
    assert ece.score(mixture([[1.0]], probabilities), batch(targets))[0] < 0.01


def test_an_underflown_probability_costs_a_finite_number_of_nats():
    predictive = mixture([[1.0]], [[[[1.0, 0.0]]]])
    assert nll.score(predictive, batch([[1]])) == pytest.approx([87.34], abs=0.01)


@pytest.mark.parametrize("metric", METRICS)
def test_a_regression_is_refused_by_name(metric):
    values = np.zeros((1, 1, 1, 1))
    with pytest.raises(UserError, match=metric.name):
        judging.judge(metric, Gaussian(np.zeros((1, 1)), values, values + 1), batch([[0]]))

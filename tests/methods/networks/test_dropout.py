"""Dropout against closed forms of the mean and variance of a linear model's outputs."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.contract.problems import Parts
from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Gaussian, Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.learners import map as map_learner
from shiftbench.methods.models import convnet, linear, mlp
from shiftbench.methods.networks import dropout
from shiftbench.methods.networks.dropout import Dropout

KEY = seeds.block(range(2), "dropout")
SHARE = 0.3
ROWS = Problem("regression", (3,), 2, 20, 1)


def predicted(draws: int, **shares: float) -> tuple[Gaussian, np.ndarray, np.ndarray]:
    """Return a linear model's prediction, its inputs [2, 20, 3] and weights [2, 3, 2]."""
    rng = np.random.default_rng(0)
    model = linear.build(linear.Settings(noise_sd=0.5), ROWS)
    settings = map_learner.Settings(prediction_draws=draws, **shares)
    learner = map_learner.build(settings, ROWS, model)
    mean = rng.normal(size=(2, 1, model.size)).astype(np.float32)
    inputs = rng.normal(size=(2, 20, 3)).astype(np.float32)
    state = learner.init(KEY) | {"mean": mean}
    prediction = learner.predict(state, inputs, KEY)
    assert isinstance(prediction, Gaussian)
    return prediction, inputs, mean[:, 0, :6].reshape(2, 3, 2)


def test_mc_dropout_of_a_linear_model_has_its_known_moments():
    draws = 4000
    prediction, x, weights = predicted(draws, input_dropout=SHARE)
    estimate, *_ = predicted(0, input_dropout=SHARE)
    variance = SHARE / (1 - SHARE) * np.einsum("snd,sdk->snk", x**2, weights**2)
    error = np.abs(prediction.mean - estimate.mean)[:, 0] / np.sqrt(variance / draws)
    assert 0.5 < error.mean() < 1.1 and error.max() < 5
    np.testing.assert_allclose(prediction.variance[:, 0] - 0.25, variance, rtol=0.15)
    np.testing.assert_allclose(estimate.variance, 0.25)


def test_rows_have_masks_of_their_own():
    """Rows with equal inputs differ within one draw; hypotheses share the masks."""
    model = linear.build(linear.Settings(), Problem("regression", (50,), 1, 2, 1))
    parameters = tf.ones([1, 2, model.size])
    drawn = dropout.draws(Dropout(0.5, 0.0), model, parameters)(KEY[:1], 2)
    outputs = model.forward(drawn, tf.ones([1, 1, 2, 50])).numpy()
    assert outputs[0, 0, 0] != outputs[0, 0, 1]
    np.testing.assert_array_equal(outputs[:, 0], outputs[:, 1])


@pytest.mark.parametrize(("inputs", "hidden"), [(0.5, 0.0), (0.0, 0.5)])
def test_a_share_acts_on_its_layers_alone(inputs, hidden):
    problem = Problem("classification", (8, 8, 1), 3, 2, 1)
    model = convnet.build(convnet.Settings(filters=(2,)), problem)
    passed: dict[str, tf.Tensor] = {}

    def linear_map(layer, x):
        passed[layer.name] = x
        return tf.ones([*x.shape[:-1], layer.fan_out])

    masked = dropout.masked(Dropout(inputs, hidden), model, linear_map, KEY[:1])
    model.forward(masked, tf.ones([1, 1, 2, 8, 8, 1]))
    for i, layer in enumerate(model.layers):
        share = inputs if i == 0 else hidden
        values = passed[layer.name].numpy()
        assert set(np.unique(values)) == ({1.0} if share == 0 else {0.0, 2.0}), layer.name
        assert abs((values == 0).mean() - share) < 0.2


@pytest.mark.long
def test_no_share_gives_the_bytes_of_no_dropout():
    """This holds for any number of draws; with a share, the parameters differ."""
    parts = Parts()
    runs = []
    for fields in ({}, {"prediction_draws": 7, "dropout": 0.0}, {"dropout": 0.5}):
        learner, problem = parts.learner("map", **{"prediction_draws": 0} | fields)
        state, info = learner.observe(learner.init(KEY), parts.batch(problem), KEY)
        predicted = learner.predict(state, parts.batch(problem).inputs, KEY)
        runs.append((state["mean"], info["log_evidence"], predicted.probabilities))
    for one, other in zip(runs[0], runs[1], strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(runs[0][0], runs[2][0])


@pytest.mark.long
def test_training_under_masks_has_the_mean_gradient_of_least_squares_with_a_ridge():
    """E (y - w z x)^2 = (y - w x)^2 + p / (1 - p) w^2 x^2 (Wager et al. 2013): p = 1 / 2 halves w.
    Masks are redrawn at each step, so Adam on many rows ends there.
    """
    problem = Problem("regression", (1,), 1, 4000, 1)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1, 4000, 1)).astype(np.float32)
    targets = 2 * x + 0.1 * rng.normal(size=x.shape)
    model = linear.build(linear.Settings(), problem)
    how = {"epochs": 300, "batch_size": 4000, "learning_rate": 0.03, "prior": "flat"}
    settings = map_learner.Settings(**how, importance="none", input_dropout=0.5)
    learner = map_learner.build(settings, problem, model)
    batch = Batch(x, targets, np.ones((1, 4000), bool))
    state, _ = learner.observe(learner.init(KEY[:1]), batch, KEY[:1])
    exact = (x * targets).sum() / (2 * (x**2).sum())
    np.testing.assert_allclose(state["mean"][0, 0, 0], exact, rtol=0.03)


def test_layers_without_inputs_are_left_alone():
    problem = Problem("regression", (3,), 1, 20, 1)
    model = mlp.build(mlp.Settings(hidden=(4,), noise="learnt"), problem)
    learner = map_learner.build(
        map_learner.Settings(importance="none", dropout=0.5, prediction_draws=2), problem, model
    )
    state = learner.init(KEY)
    prediction = learner.predict(state, np.ones((2, 20, 3), np.float32), KEY)
    np.testing.assert_array_equal(prediction.variance, 1.0)

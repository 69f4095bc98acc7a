"""Means of class probabilities and of their entropy over draws of weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import entropy

from shiftbench.core import seeds
from shiftbench.core.interface import Problem
from shiftbench.methods.models import linear
from shiftbench.methods.networks import random, sampling
from shiftbench.methods.networks.backend import graph, tf
from shiftbench.methods.networks.model import point
from shiftbench.methods.networks.random import fold_in, normals

PROBLEM = Problem("classification", (2,), n_outputs=3, n_train=5, n_tasks=1)
INPUTS = np.random.default_rng(0).normal(size=(1, 5, 2)).astype(np.float32)


def predicted(weights):
    """Return the predictive of a model whose k-th draw is weights[k], and its probabilities."""
    model = linear.build(linear.Settings(), PROBLEM)
    drawn = tf.constant(weights[:, None, None].astype(np.float32))

    def moments(inputs):
        each = [model.forward(point(weights), inputs[:, None]) for weights in tf.unstack(drawn)]
        return tf.reduce_mean([sampling.moments(model, outputs) for outputs in each], axis=0)

    outputs = [model.forward(point(weights), INPUTS[:, None]) for weights in tf.unstack(drawn)]
    return sampling.predictive(model, moments, INPUTS), softmax(np.array(outputs, float), axis=-1)


def test_entropy_is_the_mean_of_that_of_each_draw():
    size = linear.build(linear.Settings(), PROBLEM).size
    weights = np.random.default_rng(1).normal(size=(4, size))
    prediction, of_draws = predicted(weights)
    assert prediction.entropy.shape == (1, 1, 5)
    assert prediction.entropy == pytest.approx(entropy(of_draws, axis=-1).mean(axis=0), rel=1e-5)
    assert (prediction.entropy < entropy(prediction.probabilities, axis=-1)).all()


def test_classes_without_probability_add_nothing():
    size = linear.build(linear.Settings(), PROBLEM).size
    prediction, _ = predicted(np.full((1, size), 1e4) * np.arange(size))
    assert np.isfinite(prediction.entropy).all() and prediction.entropy == pytest.approx(0)


def test_variance_of_draws_at_a_level_far_above_it():
    problem = Problem("regression", (2,), n_outputs=1, n_train=5, n_tasks=1)
    model = linear.build(linear.Settings(noise_sd=0.01), problem)
    weights = np.random.default_rng(2).normal([0, 0, 3e3], [0.1, 0.1, 0.1], (1, 6, 3))
    drawn = weights.astype(np.float32)

    def draw(draw_seeds, rows):
        return point(tf.gather(drawn, draw_seeds[0, 1] % 6, axis=1)[:, tf.newaxis])

    keys = fold_in(np.ones((1, 2), np.int32), tf.constant(0))
    used = [int(fold_in(keys, tf.constant(k))[0, 1] % 6) for k in range(4)]
    moments = graph(lambda x: sampling.predictive_moments(model, draw, 4, keys, x))
    predicted = sampling.predictive(model, moments, INPUTS)
    of_draws = INPUTS.astype(float) @ drawn[0, used, :2].T.astype(float) + drawn[0, used, 2]
    assert len(set(used)) > 1
    np.testing.assert_allclose(predicted.mean[0, 0, :, 0], of_draws[0].mean(-1), rtol=1e-6)
    variance = of_draws[0].var(axis=-1) + 0.01**2
    np.testing.assert_allclose(predicted.variance[0, 0, :, 0], variance, rtol=0.02)


@pytest.mark.parametrize(("number", "others"), [(8, 5), (11, 6), (2, 1), (5, 2**20)])
def test_signs_are_those_of_the_normal_draws_that_follow(number, others):
    keys = seeds.block([0, 1], "signs")
    whole = random.normals(keys, [number + others])
    first, signs = random.normals_and_signs(keys, number, others)
    np.testing.assert_array_equal(first, whole[:, :number])
    np.testing.assert_array_equal(signs, np.sign(whole[:, number:]))


@pytest.mark.parametrize("draws", [1, 3])
@pytest.mark.parametrize("rows", [5, 12_000], ids=["one piece", "two pieces"])
def test_a_network_is_traced_once(draws, rows):
    """This holds for any number of draws and data pieces, since tracing is expensive."""
    model, traced = linear.build(linear.Settings(), PROBLEM), []
    draw = sampling.gaussian(tf.zeros([1, 2, model.size]), tf.ones([1, 2, model.size]))

    def forward(linear_maps, inputs):
        traced.append(1)
        return model.forward(linear_maps, inputs)

    counted = model._replace(forward=forward)
    data = np.zeros((1, rows, 2), np.float32), np.zeros((1, rows), int), np.ones((1, rows), bool)
    seeds = np.ones((1, 2), np.int32)
    graph(lambda: sampling.expected_log_likelihood(counted, draw, data, draws, seeds).mean)()
    assert len(traced) == 1
    graph(lambda: sampling.predictive_moments(counted, draw, draws, seeds, data[0]))()
    assert len(traced) == 2


@pytest.mark.parametrize("draws", [1, 2, 5])
def test_sums_from_the_first_draw(draws):
    """Compare with NumPy: the first value, and sums of offsets and of their squares over draws."""
    seeds = np.arange(6, dtype=np.int32).reshape(3, 2)

    def value(draw_seeds):
        return 1e3 + normals(draw_seeds, [2])

    values = np.stack([value(fold_in(seeds, i)) for i in range(draws)]).astype(float)
    first, offsets, squares = graph(lambda: sampling.from_first(value, tf.square, draws, seeds))()
    np.testing.assert_array_equal(first, values[0])
    np.testing.assert_allclose(offsets, (values - values[0]).sum(axis=0), atol=1e-3)
    np.testing.assert_allclose(squares, ((values - values[0]) ** 2).sum(axis=0), atol=1e-3)

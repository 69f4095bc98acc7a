"""Means over draws of weights: of class probabilities, and of their entropy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import entropy

from shiftbench.core import seeds
from shiftbench.core.interface import Problem
from shiftbench.methods.models import linear
from shiftbench.methods.models._model import point
from shiftbench.methods.networks import random, sampling
from shiftbench.methods.networks.backend import tf

PROBLEM = Problem("classification", (2,), n_outputs=3, n_train=5, n_tasks=1)
INPUTS = np.random.default_rng(0).normal(size=(1, 5, 2)).astype(np.float32)


def predicted(weights):
    """The predictive of a model whose k-th draw has weights[k], and each draw's probabilities."""
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


@pytest.mark.parametrize(("number", "others"), [(8, 5), (11, 6), (2, 1), (5, 2**20)])
def test_signs_are_those_of_the_normal_draws_that_follow(number, others):
    keys = seeds.block([0, 1], "signs")
    whole = random.normals(keys, [number + others])
    first, signs = random.normals_and_signs(keys, number, others)
    np.testing.assert_array_equal(first, whole[:, :number])
    np.testing.assert_array_equal(signs, np.sign(whole[:, number:]))

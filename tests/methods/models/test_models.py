"""Networks against the equivalent TensorFlow layers."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.models import convnet, linear, mlp
from shiftbench.methods.networks.model import glorot, log_likelihood, point

IMAGES = Problem("classification", (6, 5, 2), 3, 10, 1)


def drawn(model, shape=(1, 1)):
    rng = np.random.default_rng(0)
    return tf.constant(0.3 * rng.normal(size=(*shape, model.size)), tf.float32)


@pytest.mark.parametrize("hidden", [(), (5,), (5, 6)])
def test_convnet_equals_convolutions_and_pools_of_tensorflow(hidden):
    model = convnet.build(convnet.Settings(filters=(3, 4), hidden=hidden), IMAGES)
    parameters = drawn(model)
    images = tf.constant(np.random.default_rng(1).normal(size=(7, 6, 5, 2)), tf.float32)
    x = images
    for i, layer in enumerate(model.layers[:4]):
        kernel = tf.reshape(parameters[0, 0, layer.weights], [3, 3, -1, layer.fan_out])
        x = tf.nn.relu(tf.nn.conv2d(x, kernel, 1, "SAME") + parameters[0, 0, layer.biases])
        if i % 2:
            x = tf.nn.max_pool2d(x, 2, 2, "SAME")
    expected = tf.reshape(x, [7, -1])
    for layer in model.layers[4:]:
        weights = tf.reshape(parameters[0, 0, layer.weights], [layer.fan_in, -1])
        expected = expected @ weights + parameters[0, 0, layer.biases]
        expected = tf.nn.relu(expected) if layer is not model.layers[-1] else expected
    actual = model.forward(point(parameters), images[None, None])
    np.testing.assert_allclose(actual[0, 0], expected, atol=1e-5)


def test_the_paper_sized_convnet_has_the_parameters_of_the_paper():
    model = convnet.build(convnet.Settings(), Problem("classification", (32, 32, 3), 10, 1, 1))
    # Notes on the authors' code: 212,874 trainable numbers = 2 x weights + biases.
    biases = int(model.is_bias().sum())
    assert 2 * (model.size - biases) + biases == 212_874


def test_mlp_equals_dense_layers_for_stacked_parameters():
    model = mlp.build(mlp.Settings(hidden=(4, 3)), Problem("classification", (5,), 2, 1, 1))
    parameters = drawn(model, (2, 3))
    inputs = np.random.default_rng(1).normal(size=(2, 6, 5)).astype(np.float32)
    actual = model.forward(point(parameters), tf.constant(inputs[:, None])).numpy()
    for s in range(2):
        for h in range(3):
            x, flat = inputs[s], parameters[s, h].numpy()
            for layer in model.layers:
                x = x @ flat[layer.weights].reshape(layer.fan_in, -1) + flat[layer.biases]
                x = np.maximum(x, 0) if layer is not model.layers[-1] else x
            np.testing.assert_allclose(actual[s, h], x, atol=1e-5)


def test_gaussian_log_likelihood_sums_over_outputs():
    problem = Problem("regression", (2,), 2, 1, 1)
    model = linear.build(linear.Settings(noise_sd=0.5), problem)
    actual = log_likelihood(model, tf.constant([[[[0.0, 1.0]]]]), tf.constant([[[0.5, 1.0]]]))
    exact = 2 * np.log(1 / (0.5 * np.sqrt(2 * np.pi))) - 0.5
    np.testing.assert_allclose(actual.numpy().item(), exact, rtol=1e-6)


def test_glorot_has_the_right_bound_and_zero_biases():
    model = mlp.build(mlp.Settings(hidden=(50,)), Problem("classification", (64,), 10, 1, 1))
    start = glorot(model, seeds.block([0, 1], "glorot"))
    assert (start[..., model.is_bias()] == 0).all()
    weights = start[:, 0, model.layers[0].weights]
    bound = np.sqrt(6 / 114)
    assert 0.98 * bound < np.abs(weights).max() <= bound
    assert not np.array_equal(weights[0], weights[1])

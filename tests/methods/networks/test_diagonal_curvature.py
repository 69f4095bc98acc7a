"""Curvatures of a minibatch against loops over examples, draws and parameters."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core.interface import Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.models import convnet, linear, mlp
from shiftbench.methods.networks import example_gradients
from shiftbench.methods.networks.diagonal_curvature import estimate
from shiftbench.methods.networks.model import Model, log_likelihood_of, point
from shiftbench.methods.networks.training import Minibatch

MODELS = {
    "mlp": lambda p: mlp.build(mlp.Settings(hidden=(5, 4)), p),
    "convnet": lambda p: convnet.build(convnet.Settings(filters=(2,)), p),
}
DRAWS = 2


def some_rows(targets: np.ndarray, shape=(4, 4, 1)) -> Minibatch:
    """Return six rows, of which the last is masked."""
    inputs = np.random.default_rng(0).normal(size=(1, 1, 6, *shape))
    mask = tf.constant([[1.0, 1, 1, 1, 1, 0]])
    return Minibatch(tf.constant(inputs, tf.float32), tf.constant(targets[None]), mask)


@pytest.fixture(params=["mlp", pytest.param("convnet", marks=pytest.mark.long)])
def case(request) -> tuple[Model, Minibatch, tf.Tensor, tf.Tensor, np.ndarray]:
    """Return a model, rows, mean and sd [1, 2, P] of two hypotheses, and noise [DRAWS, P]."""
    model = MODELS[request.param](Problem("classification", (4, 4, 1), 3, 6, 1))
    rng = np.random.default_rng(1)
    mean, sd = 0.4 * rng.normal(size=(1, 2, model.size)), rng.uniform(0.1, 0.3, (1, 2, model.size))
    rows = some_rows(rng.integers(0, 3, 6))
    noise = rng.normal(size=(DRAWS, model.size)).astype("f4")
    return model, rows, tf.constant(mean, tf.float32), tf.constant(sd, tf.float32), noise


def packed(model: Model, noise: np.ndarray) -> tf.Tensor:
    """Return the noise in the order of `estimate`: layer by layer, the first one by input."""
    parts = []
    for layer in model.layers:
        weights = noise[:, layer.weights].reshape(-1, layer.fan_in, layer.fan_out)
        first = layer is model.layers[0]
        parts += [(weights.swapaxes(0, 1) if first else weights).ravel()]
        parts += [noise[:, layer.biases].ravel()]
    return tf.constant(np.concatenate(parts)[None])


def order_of(model: Model, noise: np.ndarray) -> tf.Tensor:
    """Return the noise of DRAWS draws; convolutions draw one after the other."""
    if model.convolves:
        return tf.concat([packed(model, one[None]) for one in noise], 1)
    return packed(model, noise)


def drawn(case) -> np.ndarray:
    """Return the parameters [2, DRAWS, P] of hypotheses and draws."""
    _, _, mean, sd, noise = case
    return mean.numpy()[0, :, None] + sd.numpy()[0, :, None] * noise


def derivatives(model: Model, rows: Minibatch, parameters: np.ndarray):
    """Return gradient [P] and Hessian [P, P] of the rows' log likelihood, by autodiff.

    Row i of the Hessian comes from the i-th of P equal hypotheses.
    """
    at = tf.constant(np.tile(parameters, (1, model.size, 1)), tf.float32)
    with tf.GradientTape() as outer:
        outer.watch(at)
        with tf.GradientTape() as inner:
            inner.watch(at)
            value = tf.reduce_sum(log_likelihood_of(model, point(at), *rows))
        gradients = inner.gradient(value, at)
        own = tf.linalg.trace(gradients[0])
    return gradients[0, 0].numpy(), outer.gradient(own, at)[0].numpy()


def test_the_hessian_is_that_of_automatic_differentiation(case):
    model, rows, mean, sd, noise = case
    order = tf.constant(noise.reshape(1, -1))
    gradients, curvature = estimate("hessian", DRAWS, model, mean, sd, rows, order)
    for h, of_draws in enumerate(drawn(case)):
        brute = [derivatives(model, rows, draw) for draw in of_draws]
        expected = np.mean([g for g, _ in brute], axis=0)
        np.testing.assert_allclose(gradients[0, h], expected, rtol=1e-3, atol=1e-5)
        expected = np.mean([-np.diag(second) for _, second in brute], axis=0)
        np.testing.assert_allclose(curvature[0, h], expected, rtol=1e-3, atol=1e-5)
        # Only the full Hessian has negative eigenvalues.
        assert (curvature.numpy() >= 0).all() and curvature.numpy().max() > 0.1
        assert min(np.linalg.eigvalsh(-second).min() for _, second in brute) < -0.01


def test_the_hessian_of_a_linear_model_is_its_information():
    model = linear.build(linear.Settings(noise_sd=0.5), Problem("regression", (3,), 2, 6, 1))
    rows = some_rows(np.ones((6, 2), "f4"), shape=(3,))
    mean = tf.ones([1, 1, model.size])
    _, curvature = estimate("hessian", 0, model, mean, mean, rows, None)
    design = np.concatenate([rows.inputs[0, 0, :5], np.ones((5, 1))], axis=1)
    expected = np.repeat((design**2).sum(axis=0) / 0.25, 2)
    np.testing.assert_allclose(curvature[0, 0], expected, rtol=1e-5)


def test_the_square_of_a_minibatch_is_that_of_its_mean_gradient_in_each_draw(case):
    model, rows, mean, sd, noise = case
    order = order_of(model, noise)
    gradients, curvature = estimate("minibatch", DRAWS, model, mean, sd, rows, order)
    for h, of_draws in enumerate(drawn(case)):
        brute = np.array([derivatives(model, rows, draw)[0] for draw in of_draws])
        np.testing.assert_allclose(gradients[0, h], brute.mean(axis=0), rtol=1e-3, atol=1e-5)
        expected = (brute**2).mean(axis=0) / 5
        np.testing.assert_allclose(curvature[0, h], expected, rtol=1e-3, atol=1e-5)


def test_squares_are_those_of_a_minibatch_of_a_single_row(case):
    model, rows, mean, sd, noise = case
    single = rows._replace(mask=tf.constant([[0.0, 0, 1, 0, 0, 0]]))
    order = order_of(model, noise)
    one, other = (
        estimate(kind, DRAWS, model, mean, sd, single, order) for kind in ("squares", "minibatch")
    )
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("kind", ["squares", "hessian", "minibatch"])
def test_without_draws_all_is_that_of_a_draw_without_spread(case, kind):
    model, rows, mean, sd, noise = case
    order = order_of(model, noise)
    still = estimate(kind, DRAWS, model, mean, 0 * sd, rows, order)
    for a, b in zip(estimate(kind, 0, model, mean, sd, rows, None), still, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_the_fused_draws_give_the_moments_of_explicit_weights(case):
    model, rows, mean, sd, noise = case
    actual = estimate("squares", DRAWS, model, mean, sd, rows, order_of(model, noise))
    parameters = tf.constant(drawn(case).reshape(1, 2 * DRAWS, -1), tf.float32)
    _, passed = example_gradients.signals(model, point(parameters), rows)
    for got, expected in zip(actual, example_gradients.moments(passed, DRAWS), strict=True):
        np.testing.assert_allclose(got, expected / DRAWS, rtol=1e-3, atol=1e-5)

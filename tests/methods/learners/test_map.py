"""MAP, Fisher information and Laplace propagation against exact answers."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.learners import map as map_learner
from shiftbench.methods.models import convnet, linear, mlp
from shiftbench.methods.networks.fisher import squared_gradients
from shiftbench.methods.networks.model import glorot, log_likelihood, point
from shiftbench.methods.networks.training import Minibatch
from tests.methods.learners.test_mfvi import NOISE, regression


@pytest.mark.long
def test_laplace_propagation_is_exact_for_a_linear_gaussian_model_over_two_tasks():
    batch, design, _, _ = regression()
    # Orthogonal columns make the exact posterior diagonal, so that Laplace's is exact.
    q, _ = np.linalg.qr(design)
    batch = batch._replace(inputs=(5 * q[..., :3]).astype(np.float32))
    problem = Problem("regression", (3,), 1, 60, 2)
    model = linear.build(linear.Settings(noise_sd=NOISE), problem)
    settings = map_learner.Settings(epochs=800, batch_size=60, learning_rate=0.02)
    learner = map_learner.build(settings, problem, model)
    key = seeds.block([0, 1], "laplace")
    state = learner.init(key)
    for _ in range(2):
        state, _ = learner.observe(state, batch, key)
    x = batch.inputs.astype(float)
    information = np.swapaxes(x, 1, 2) @ x / NOISE**2
    precision = np.eye(3) + 2 * information
    np.testing.assert_allclose(
        state["precision"][:, 0, :3], np.diagonal(precision, axis1=1, axis2=2), rtol=1e-4
    )
    # The bias has no prior: given its estimate, the posterior mean of the weights is exact.
    residual = batch.targets - state["mean"][:, 0, None, 3:]
    exact = np.linalg.solve(precision, 2 * np.swapaxes(x, 1, 2) @ residual / NOISE**2)
    np.testing.assert_allclose(state["mean"][:, 0, :3, None], exact, atol=0.01)
    assert (state["precision"][:, 0, 3] == 0).all()


MODELS = {
    "mlp": lambda p: mlp.build(mlp.Settings(hidden=(5,)), p),
    "convnet": lambda p: convnet.build(convnet.Settings(filters=(2,)), p),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("summed", [False, True])
def test_squared_gradients_equal_a_loop_over_examples(name, summed):
    problem = Problem("classification", (4, 4, 1), 3, 6, 1)
    model = MODELS[name](problem)
    rng = np.random.default_rng(0)
    key = seeds.block([0], "loop")
    parameters = tf.constant(glorot(model, key) + rng.normal(size=model.size).astype("f4") * 0.1)
    inputs = tf.constant(rng.normal(size=(1, 1, 6, 4, 4, 1)), tf.float32)
    targets = tf.constant(rng.integers(0, 3, (1, 6)))
    rows = Minibatch(inputs, targets, tf.constant([[1.0, 1, 1, 1, 1, 0]]))
    actual = squared_gradients(model, parameters, rows, "observed", summed, key)
    gradients = []
    for i in range(5):
        with tf.GradientTape() as tape:
            tape.watch(parameters)
            out = model.forward(point(parameters), inputs[:, :, i : i + 1])
            value = log_likelihood(model, out, targets[:, i : i + 1])
        gradients.append(tape.gradient(value, parameters).numpy())
    expected = sum(gradients) ** 2 if summed else sum(g**2 for g in gradients)
    np.testing.assert_allclose(actual, expected, rtol=2e-4, atol=1e-6)


@pytest.mark.long
def test_expected_fisher_equals_the_closed_form_of_softmax_regression():
    problem = Problem("classification", (4,), 3, 20, 1)
    model = linear.build(linear.Settings(), problem)
    rng = np.random.default_rng(0)
    parameters = rng.normal(size=(1, 1, model.size)).astype(np.float32)
    x = rng.normal(size=(20, 4)).astype(np.float32)
    rows = Minibatch(x[None, None], np.zeros((1, 20), int), np.ones((1, 20), np.float32))
    key = seeds.block([0], "fisher")
    rows = Minibatch(*(tf.constant(a) for a in rows))
    actual = squared_gradients(model, tf.constant(parameters), rows, "expected", False, key)
    w, b = parameters[0, 0, :12].reshape(4, 3), parameters[0, 0, 12:]
    logits = x @ w + b
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    exact = np.concatenate([((x**2).T @ (p * (1 - p))).ravel(), (p * (1 - p)).sum(axis=0)])
    np.testing.assert_allclose(actual[0, 0], exact, rtol=1e-4)
    sampled = [
        squared_gradients(model, tf.constant(parameters), rows, "sampled", False, key_)[0, 0]
        for key_ in seeds.block(range(100), "sampled")[:, None]
    ]
    np.testing.assert_allclose(np.mean(sampled, axis=0), exact, rtol=0.25, atol=0.05)


@pytest.mark.long
def test_masked_rows_have_no_effect():
    problem = Problem("classification", (4,), 3, 20, 1)
    model = mlp.build(mlp.Settings(hidden=(5,)), problem)
    learner = map_learner.build(map_learner.Settings(epochs=3), problem, model)
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(1, 20, 4)).astype(np.float32)
    targets = rng.integers(0, 3, (1, 20))
    mask = np.arange(20)[None] < 13
    other = Batch(np.where(mask[..., None], inputs, 1e3), np.where(mask, targets, 0), mask)
    key = seeds.block([0], "mask")
    one, _ = learner.observe(learner.init(key), Batch(inputs, targets, mask), key)
    two, _ = learner.observe(learner.init(key), other, key)
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])

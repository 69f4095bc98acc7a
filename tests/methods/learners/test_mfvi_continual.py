"""Variational continual learning: several draws, initial values and heads."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.learners import mfvi
from shiftbench.methods.models import convnet, mlp
from shiftbench.methods.networks import weight_draws
from shiftbench.methods.networks.model import point
from shiftbench.methods.networks.weight_draws import Draws

HEADED = Problem("classification", (4,), 6, 40, 3, heads=3)
VCL = {"biases": "gaussian", "batch_size": 20, "start": "prior", "epochs": 2, "elbo_draws": 2}
VCL |= {"learning_rate": 0.01, "prediction_draws": 20}
FAMILIES = [
    ("gaussian", "local"),
    *(
        pytest.param(*one, marks=pytest.mark.long)
        for one in (("gaussian", "sample"), ("radial", "sample"), ("radial", "flipout"))
    ),
]
KEY = seeds.block([0, 1], "vcl")


# Build each learner once, since tracing takes most of the time.
@functools.cache
def headed(**settings):
    model = mlp.build(mlp.Settings(hidden=(5,)), HEADED)
    return mfvi.build(mfvi.Settings(**(VCL | settings)), HEADED, model), model


def task(head: int, n=40) -> Batch:
    rng = np.random.default_rng(head)
    labels = rng.integers(0, 2, (2, n))
    inputs = 2 * np.eye(4)[(labels + head) % 4] + 0.4 * rng.normal(size=(2, n, 4))
    inputs = np.concatenate([inputs, np.full((2, n, 1), head)], axis=2)
    return Batch(inputs.astype(np.float32), labels + 2 * head, np.ones((2, n), bool))


def head_of_each(model) -> np.ndarray:
    """Return the head of each parameter by brute force, -1 for shared parameters."""
    owners, last = np.full(model.size, -1), model.layers[-1]
    for head in range(3):
        for i in range(last.fan_in):
            owners[last.weights.start + i * 6 + 2 * head :][:2] = head
        owners[last.biases.start + 2 * head :][:2] = head
    return owners


@pytest.mark.long
@pytest.mark.parametrize(("family", "estimator"), FAMILIES)
def test_heads_without_rows_stay_as_they_are_and_cost_nothing(family, estimator):
    vi, model = headed(family=family, estimator=estimator)
    first, info = vi.observe(vi.init(KEY), task(1), KEY)
    others = head_of_each(model) % 3 != 1
    others &= head_of_each(model) >= 0
    assert (first["mean"][..., others] == 0).all() and (first["sd"][..., others] == 1).all()
    assert (first["mean"][..., ~others] != 0).all()
    # Another prior for heads without rows changes nothing.
    odd = {k: a.copy() for k, a in vi.init(KEY).items()}
    odd["mean"][..., others], odd["sd"][..., others] = 3.0, 0.1
    actual, odd_info = vi.observe(odd, task(1), KEY)
    np.testing.assert_array_equal(actual["mean"][..., ~others], first["mean"][..., ~others])
    np.testing.assert_allclose(odd_info["kl"], info["kl"], rtol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("start", ["prior", "maximum-likelihood"])
def test_a_new_head_starts_fresh_and_all_else_at_the_prior(start):
    vi, model = headed(estimator="local", start=start, learning_rate=1e-9, start_sd=0.03)
    state, _ = vi.observe(vi.init(KEY), task(0), KEY)
    state = {"mean": state["mean"], "sd": np.where(state["mean"] == 0, state["sd"], 0.2)}
    state = {k: a.astype(np.float32) for k, a in state.items()}
    actual, _ = vi.observe(state, task(2), seeds.block([5, 6], "vcl"))
    owners = head_of_each(model)
    old, new = owners <= 0, owners == 2
    # With a learning rate near zero, the state after a task is the initial one.
    for name in ("mean", "sd"):
        np.testing.assert_allclose(actual[name][..., old], state[name][..., old], atol=1e-6)
    np.testing.assert_allclose(actual["sd"][..., new], 0.03, rtol=1e-4)
    assert 0.05 < actual["mean"][..., new].std() < 0.2
    assert (actual["mean"][0, 0, new] != actual["mean"][1, 0, new]).all()


@pytest.mark.long
def test_only_the_first_task_starts_at_maximum_likelihood():
    """In the second task, both starts give the same means."""
    vi, _ = headed(estimator="local", start="maximum-likelihood", epochs=60, start_sd=1e-4)
    plain, _ = headed(estimator="local", start="prior", epochs=60, start_sd=1e-4)
    batch = task(0)
    first, _ = vi.observe(vi.init(KEY), batch, KEY)
    other, _ = plain.observe(plain.init(KEY), batch, KEY)
    assert not np.allclose(first["mean"], other["mean"], atol=1e-3)
    again, _ = vi.observe(first, task(1), KEY)
    same, _ = plain.observe(first, task(1), KEY)
    np.testing.assert_array_equal(again["mean"], same["mean"])
    accuracy = vi.predict(first, batch.inputs, KEY).probabilities[:, 0].argmax(-1) == batch.targets
    assert accuracy.mean() > 0.95


@pytest.mark.long
def test_fresh_starts_redraw_what_tasks_have_trained():
    vi, model = headed(estimator="local", start="fresh", learning_rate=1e-9, start_sd=0.03)
    state, _ = vi.observe(vi.init(KEY), task(0), KEY)
    moved = {"mean": state["mean"] + 5, "sd": state["sd"]}
    actual, _ = vi.observe(moved, task(0), KEY)
    trained = head_of_each(model) <= 0
    assert np.abs(actual["mean"][..., trained]).max() < 1
    np.testing.assert_allclose(actual["sd"][..., trained], 0.03, rtol=1e-4)


@pytest.mark.parametrize(("family", "estimator"), FAMILIES)
def test_predictions_ignore_the_parameters_of_other_heads(family, estimator):
    vi, model = headed(family=family, estimator=estimator)
    state, _ = vi.observe(vi.init(KEY), task(0), KEY)
    others = head_of_each(model) > 0
    noisy = {k: a.copy() for k, a in state.items()}
    rng = np.random.default_rng(0)
    noisy["mean"][..., others] = rng.normal(size=others.sum())
    noisy["sd"][..., others] = rng.uniform(0.1, 3, others.sum())
    one, two = (vi.predict(s, task(0).inputs, KEY).probabilities for s in (state, noisy))
    np.testing.assert_array_equal(one, two)
    assert (one[..., 2:] == 0).all()


def gradients(estimator: str, draws: int, repeats: int) -> np.ndarray:
    """Return gradients [repeats, P] of one loss in the means, each with its own draws."""
    problem = Problem("classification", (4,), 3, 20, 1)
    model = mlp.build(mlp.Settings(hidden=(5,)), problem)
    plan = Draws(model, estimator, None, draws)
    rng = np.random.default_rng(0)
    inputs = np.float32(rng.normal(size=(1, 1, 20, 4)))
    mean = np.float32(rng.normal(size=(1, 1, model.size)))
    numbers = rng.normal(size=(repeats, draws, weight_draws.numbers_needed(plan, 20)))
    # Use one seed per repeat; seeds do not interact.
    inputs, mean = (tf.repeat(a, repeats, axis=0) for a in (inputs, mean))
    with tf.GradientTape() as tape:
        tape.watch(mean)
        noise = weight_draws.noise(plan, tf.constant(numbers, tf.float32), 20)
        linear = weight_draws.linear(plan, mean, tf.fill(mean.shape, 0.3), noise, 20)
        outputs = tf.nn.log_softmax(model.forward(linear, inputs))[..., 0]
        loss = tf.reduce_sum(tf.reduce_mean(outputs, axis=(1, 2)))
    return tape.gradient(loss, mean)[:, 0].numpy()


@pytest.mark.parametrize("estimator", ["flipout", "local", "sample"])
def test_gradients_of_k_draws_have_the_mean_of_one_and_its_variance_over_k(estimator):
    one, eight = gradients(estimator, 1, 1500), gradients(estimator, 8, 600)
    error = np.sqrt(one.var(axis=0) / 1500 + eight.var(axis=0) / 600)
    assert (np.abs(one.mean(axis=0) - eight.mean(axis=0)) <= 4.5 * error + 1e-9).all()
    assert one.var(axis=0).sum() / eight.var(axis=0).sum() == pytest.approx(8, rel=0.15)


@pytest.mark.parametrize("blocks", [False, True], ids=["normal", "radial"])
@pytest.mark.parametrize("hypotheses", [1, 2])
def test_flipout_of_several_draws_is_each_draw_with_its_signs(blocks, hypotheses):
    """Compare with the network under explicit weights of each hypothesis, draw and row."""
    problem = Problem("classification", (4, 4, 1), 3, 10, 1)
    model = convnet.build(convnet.Settings(filters=(2,)), problem)
    tensors = weight_draws.blocks_of(model, 1) if blocks else None
    plan, n, k = Draws(model, "flipout", tensors, 2), 3, 2
    rng = np.random.default_rng(0)
    mean, sd = np.float32(rng.normal(size=(2, 1, hypotheses, model.size)))
    sd, images = np.abs(sd), np.float32(rng.normal(size=(1, n, 4, 4, 1)))
    numbers = rng.normal(size=(1, k, weight_draws.numbers_needed(plan, n)))
    noise = weight_draws.noise(plan, tf.constant(numbers, tf.float32), n)
    linear = weight_draws.linear(plan, tf.constant(mean), tf.constant(sd), noise, n)
    actual = model.forward(linear, images[:, None])
    for h in range(hypotheses):
        for draw in range(k):
            for row in range(n):
                eps = flipped(model, noise, draw, row, n)
                weights = tf.constant(mean[0, h] + sd[0, h] * eps, tf.float32)[None, None]
                alone = model.forward(point(weights), images[:, None, row : row + 1])
                here = actual[0, h * k + draw, row]
                np.testing.assert_allclose(here, alone[0, 0, 0], rtol=1e-3, atol=1e-3)


def flipped(model, noise, draw: int, row: int, n: int) -> np.ndarray:
    """Return the noise [P] of one row: a_i b_j eps_ij for weights and b_j eps_j for biases."""
    eps = noise.eps.numpy()[0, 0, draw].copy()
    for layer, numbers in zip(model.layers, noise.rows, strict=True):
        signs = np.sign(numbers.numpy()[0, draw]).reshape(n, -1)[row]
        # A convolution has one sign per channel, at all nine places of the kernel.
        channels = layer.fan_in // 9 if layer.name.startswith("conv") else layer.fan_in
        left = np.tile(signs[:channels], layer.fan_in // channels)
        right = signs[layer.fan_in :]
        eps[layer.weights] *= np.outer(left, right).ravel()
        eps[layer.biases] *= right
    return eps

"""UCB: its prior, steps and heads against formulas by hand."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy import integrate, stats

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Problem
from shiftbench.methods.lazy_probability import tfd
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.learners import ucb
from shiftbench.methods.models import linear, mlp

KEY = seeds.block([0, 1], "ucb")
PRIOR = tfd.MixtureSameFamily(
    tfd.Categorical(probs=[0.25, 0.75]), tfd.Normal([0.0, 0.0], [1.0, float(np.exp(-6))])
)


def softplus(rho):
    return np.log1p(np.exp(rho))


def test_prior_and_its_derivative_equal_tfp():
    w = tf.constant([-3.0, -0.4, -0.02, -0.008, 0.0, 0.003, 0.01, 0.05, 1.0])
    with tf.GradientTape() as tape:
        tape.watch(w)
        expected = PRIOR.log_prob(w)
    np.testing.assert_allclose(ucb.log_prior(w), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(ucb.prior_score(w), tape.gradient(expected, w), rtol=1e-3)


def test_divergence_equals_numeric_integration():
    def log_ratio(w, mean, sd):
        wide = np.log(0.25) + stats.norm.logpdf(w)
        narrow = np.log(0.75) + stats.norm.logpdf(w, 0, np.exp(-6))
        return stats.norm.logpdf(w, mean, sd) - np.logaddexp(wide, narrow)

    copies = 100_000  # independent draws of one weight
    for mean, rho in [(0.0, -6.0), (0.02, -4.0), (0.3, -2.0), (-1.0, 0.5)]:
        sd = softplus(rho)
        exact, _ = integrate.quad(
            lambda w, m=mean, d=sd: stats.norm.pdf(w, m, d) * log_ratio(w, m, d),
            mean - 9 * sd,
            mean + 9 * sd,
            points=np.clip([-0.02, 0.0, 0.02], mean - 9 * sd, mean + 9 * sd),
            limit=500,
        )
        shape = (1, 1, copies)
        means, rhos = np.full(shape, mean, "f4"), np.full(shape, rho, "f4")
        actual = ucb.divergence(means, rhos, np.ones(shape, "f4"), 1, KEY[:1]).numpy() / copies
        np.testing.assert_allclose(actual, exact, rtol=0.02, atol=0.02)


def test_loss_gradient_equals_automatic_differentiation():
    rng = np.random.default_rng(0)
    mean, rho = (tf.constant(rng.normal(size=(2, 3, 5)) * 0.3, tf.float32) for _ in range(2))
    eps = tf.constant(rng.normal(size=(2, 1, 4, 5)), tf.float32)
    slope = tf.constant(rng.normal(size=(2, 3, 4, 5)), tf.float32)
    kl_weight = tf.constant([[[0.1]], [[0.2]]])
    with tf.GradientTape() as tape:
        tape.watch([mean, rho])
        sd = tf.nn.softplus(rho)
        w = mean[:, :, None] + sd[:, :, None] * eps
        log_q = tfd.Normal(mean[:, :, None], sd[:, :, None]).log_prob(w)
        kl = tf.reduce_mean(log_q - PRIOR.log_prob(w), 2)
        # The gradient of a log likelihood that is linear in the weights is its slope.
        loss = kl_weight * kl - 0.7 * tf.reduce_mean(slope * w, 2)
    expected = tape.gradient(loss, [mean, rho])
    actual = ucb.loss_gradient(mean, rho, eps, slope, kl_weight, 0.7)
    for one, two in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=2e-3, atol=1e-4)


def regression(**settings):
    """Return a linear model of 3 inputs with its 8 rows in one minibatch."""
    problem = Problem("regression", (3,), 1, 8, 2)
    model = linear.build(linear.Settings(noise_sd=1.0), problem)
    settings = {"epochs": 1, "batch_size": 8, "kl_weight": 0.0} | settings
    learner = ucb.build(ucb.Settings(**settings), problem, model)
    rng = np.random.default_rng(0)
    batch = Batch(
        rng.normal(size=(2, 8, 3)).astype(np.float32),
        rng.normal(size=(2, 8, 1)).astype(np.float32),
        np.ones((2, 8), bool),
    )
    return learner, batch


@pytest.mark.long
def test_a_step_by_hand_scales_the_rate_of_trained_means_with_their_uncertainty():
    learner, batch = regression(draws=2000, learning_rate=0.01, likelihood_weight=0.05)
    rng = np.random.default_rng(1)
    rho = rng.uniform(-4, 0, (2, 1, 4)).astype(np.float32)
    state = learner.init(KEY) | {"rho": rho}
    design = np.concatenate([batch.inputs, np.ones((2, 8, 1))], axis=2)
    # For a quadratic loss, the mean's gradient is that at the mean weights.
    residual = batch.targets - design @ np.swapaxes(state["mean"], 1, 2)
    gradient = -0.05 * (design * residual).sum(axis=1)
    for trained, factor in [(False, 1.0), (True, softplus(rho[:, 0]))]:
        start = state | {"trained": np.full((2, 1, 4), trained)}
        after, info = learner.observe(start, batch, KEY)
        moved = after["mean"][:, 0] - state["mean"][:, 0]
        np.testing.assert_allclose(moved, -0.01 * factor * gradient, rtol=0.15, atol=2e-5)
        assert (info["steps"] == 1).all() and after["trained"].all()
    # rho moves at the undivided rate, trained or not: d/d sd is sd times the sum of squares.
    sd = softplus(rho[:, 0])
    in_rho = 0.05 * sd * (design**2).sum(axis=1) / (1 + np.exp(-rho[:, 0]))
    np.testing.assert_allclose(after["rho"] - rho, -0.01 * in_rho[:, None], rtol=0.25, atol=2e-5)


@pytest.mark.long
def test_the_uncertainty_of_a_task_is_that_at_its_start():
    """With the rate halved after each epoch, T epochs move as far as the formula says."""
    learner, batch = regression(epochs=3, decay=0.5, learning_rate=1e-6, likelihood_weight=1.0)
    once, _ = regression(learning_rate=1e-6, likelihood_weight=1.0)
    state = learner.init(KEY) | {"rho": np.full((2, 1, 4), -9.0, np.float32)}
    total = learner.observe(state, batch, KEY)[0]["mean"] - state["mean"]
    single = once.observe(state, batch, KEY)[0]["mean"] - state["mean"]
    np.testing.assert_allclose(total, 1.75 * single, rtol=0.02)


# Build each learner once, since tracing takes most of the time.
@functools.cache
def headed(**settings):
    problem = Problem("classification", (4,), 6, 20, 3, heads=3)
    model = mlp.build(mlp.Settings(hidden=(5,)), problem)
    settings = {"epochs": 2, "batch_size": 8, "draws": 3} | settings
    return ucb.build(ucb.Settings(**settings), problem, model), model


def rows_of(head, n=20, s=2):
    rng = np.random.default_rng(head)
    inputs = rng.normal(size=(s, n, 5)).astype(np.float32)
    inputs[..., -1] = head
    return Batch(inputs, 2 * head + (inputs[..., 0] > 0), np.ones((s, n), bool))


@pytest.mark.long
def test_other_heads_are_untouched():
    learner, model = headed()
    state = learner.init(KEY)
    after, _ = learner.observe(state, rows_of(1), KEY)
    last = model.layers[-1]
    for name in ("mean", "rho"):
        moved = (after[name] != state[name])[:, 0]
        assert moved[:, : last.start].all()
        weights = moved[:, last.weights].reshape(2, 5, 6)
        assert weights[..., 2:4].all() and not weights[..., [0, 1, 4, 5]].any()
        assert moved[:, last.biases].tolist() == [[False, False, True, True, False, False]] * 2
    # The other heads will learn at the full rate once their tasks come.
    assert (after["trained"][:, 0, last.biases] == [False, False, True, True, False, False]).all()


@pytest.mark.long
def test_hypotheses_do_not_touch_each_other():
    learner, _ = headed()
    one, two = learner.init(KEY), learner.init(seeds.block([0, 1], "other"))
    both = {k: np.concatenate([one[k], two[k]], axis=1) for k in one}
    together, _ = learner.observe(both, rows_of(0), KEY)
    for slot, alone in enumerate((one, two)):
        actual, _ = learner.observe(alone, rows_of(0), KEY)
        for k in actual:
            np.testing.assert_allclose(together[k][:, slot], actual[k][:, 0], atol=1e-6)


def test_predicts_with_means_or_draws():
    learner, _ = headed()
    drawing, _ = headed(predict_with="draws", prediction_draws=50)
    state = learner.init(KEY) | {"rho": np.full_like(learner.init(KEY)["rho"], 1.0)}
    inputs = rows_of(2).inputs
    sharp, blurred = (m.predict(state, inputs, KEY).probabilities for m in (learner, drawing))
    certain = drawing.predict(state | {"rho": np.full_like(state["rho"], -40)}, inputs, KEY)
    np.testing.assert_allclose(certain.probabilities, sharp, atol=1e-5)
    assert np.abs(blurred - sharp).max() > 0.01
    assert (sharp[..., :4] == 0).all()

"""Mean-field variational inference against exact answers."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Broadening, LearnerError, Problem
from shiftbench.methods.lazy_probability import tfd
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.learners import mesu, mfvi
from shiftbench.methods.models import convnet, linear
from shiftbench.methods.networks import mean_field
from shiftbench.methods.networks.model import point

NOISE = 0.5


def regression(n=60, d=3, s=2, seed=0):
    """Return data [s, n, d] of a linear model, and the exact posterior under N(0, 1) priors."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(s, n, d)).astype(np.float32)
    targets = inputs @ rng.normal(size=(d, 1)) + 0.3 + NOISE * rng.normal(size=(s, n, 1))
    design = np.concatenate([inputs, np.ones((s, n, 1))], axis=2)
    precision = np.eye(d + 1) + np.swapaxes(design, 1, 2) @ design / NOISE**2
    moment = np.swapaxes(design, 1, 2) @ targets / NOISE**2
    mean = np.linalg.solve(precision, moment)[..., 0]
    batch = Batch(inputs, targets.astype(np.float32), np.ones((s, n), bool))
    return batch, design, precision, mean


# Build each learner once, since tracing takes most of the time.
@functools.cache
def learner(d=3, n=60, **settings):
    problem = Problem("regression", (d,), 1, n, 2)
    model = linear.build(linear.Settings(noise_sd=NOISE), problem)
    settings = {"biases": "gaussian", "batch_size": n, "learning_rate": 0.01} | settings
    return mfvi.build(mfvi.Settings(**settings), problem, model)


@pytest.mark.parametrize(
    ("estimator", "draws"),
    [
        ("flipout", 1),
        ("local", 4),
        pytest.param("local", 1, marks=pytest.mark.long),
        pytest.param("sample", 4, marks=pytest.mark.long),
    ],
)
def test_equals_the_exact_mean_field_optimum_of_a_linear_gaussian_model(estimator, draws):
    batch, _, precision, mean = regression()
    budget = {"epochs": 3000, "learning_rate": 0.003}
    if draws > 1:
        budget = {"epochs": 1500, "learning_rate": 0.006}
    vi = learner(estimator=estimator, draws=draws, **budget)
    key = seeds.block([0, 1], "exact")
    state, _ = vi.observe(vi.init(key), batch, key)
    sd = 1 / np.sqrt(np.diagonal(precision, axis1=1, axis2=2))
    # In units of the posterior's sd, so that one bound fits all parameters.
    assert np.abs((state["mean"][:, 0] - mean) / sd).max() < 0.25
    np.testing.assert_allclose(state["sd"][:, 0], sd, rtol=0.1)


@pytest.mark.long
def test_with_a_weight_of_the_divergence_equals_the_tempered_posterior():
    """The posterior of p(data)^(1 / weight) is that of noise with `weight` times its variance."""
    weight, (batch, design, _, _) = 0.2, regression()
    transposed = np.swapaxes(design, 1, 2) / (weight * NOISE**2)
    precision = np.eye(design.shape[2]) + transposed @ design
    mean = np.linalg.solve(precision, transposed @ batch.targets)[..., 0]
    vi = learner(
        kl_weight=weight, estimator="local", draws=4, epochs=1500, learning_rate=0.006,
        elbo_draws=500,
    )  # fmt: skip
    key = seeds.block([0, 1], "cold")
    state, info = vi.observe(vi.init(key), batch, key)
    sd = 1 / np.sqrt(np.diagonal(precision, axis1=1, axis2=2))
    assert np.abs((state["mean"][:, 0] - mean) / sd).max() < 0.25
    np.testing.assert_allclose(state["sd"][:, 0], sd, rtol=0.1)
    expected = info["expected_log_likelihood"] - weight * info["kl"]
    np.testing.assert_allclose(info["elbo"], expected, rtol=1e-5)
    residual = batch.targets[..., 0] - np.einsum("snd,sd->sn", design, state["mean"][:, 0])
    spread = np.einsum("snd,sd->sn", design**2, state["sd"][:, 0] ** 2)
    log_lik = -0.5 * np.log(2 * np.pi * NOISE**2) - (residual**2 + spread) / (2 * NOISE**2)
    away = info["expected_log_likelihood"][:, 0] - log_lik.sum(axis=1)
    assert (np.abs(away) < 4 * info["elbo_se"][:, 0]).all()
    assert (info["elbo_se"] < 0.5).all()


@pytest.mark.long
@pytest.mark.parametrize("start", ["prior", "means"])
def test_start_means_has_the_priors_means_and_no_larger_deviations_than_told(start):
    vi = learner(start=start, epochs=1, learning_rate=1e-9, start_sd=0.05)
    prior = np.array([[[0.5, -1.0, 0.2, 0.1]]] * 2, np.float32)
    sd = np.array([[[0.3, 0.02, 0.5, 0.4]]] * 2, np.float32)
    state, _ = vi.observe({"mean": prior, "sd": sd}, regression()[0], seeds.block([0, 1], "means"))
    np.testing.assert_allclose(state["mean"], prior, atol=1e-6)
    wanted = np.minimum(sd, 0.05) if start == "means" else sd
    np.testing.assert_allclose(state["sd"], wanted, rtol=1e-5)


@pytest.mark.long
def test_elbo_equals_its_closed_form():
    batch, design, _, _ = regression()
    vi = learner(epochs=200, elbo_draws=2000)
    key = seeds.block([0, 1], "elbo")
    state, info = vi.observe(vi.init(key), batch, key)
    m, v = state["mean"][:, 0], state["sd"][:, 0] ** 2
    residual = batch.targets[..., 0] - np.einsum("snd,sd->sn", design, m)
    spread = np.einsum("snd,sd->sn", design**2, v)
    log_lik = -0.5 * np.log(2 * np.pi * NOISE**2) - (residual**2 + spread) / (2 * NOISE**2)
    kl = 0.5 * (v + m**2 - 1 - np.log(v)).sum(axis=1)
    np.testing.assert_allclose(info["elbo"][:, 0], log_lik.sum(axis=1) - kl, atol=0.5)
    np.testing.assert_allclose(info["kl"][:, 0], kl, rtol=1e-4)


def test_divergence_gradient_equals_automatic_differentiation_of_tfp():
    rng = np.random.default_rng(1)
    shape = (2, 3, 7)
    mean, rho, prior_mean = (tf.constant(rng.normal(size=shape), tf.float32) for _ in range(3))
    prior_sd = tf.constant(np.exp(rng.normal(size=shape)), tf.float32)
    bayesian = np.array([1, 1, 0, 1, 1, 0, 1], np.float32)
    parameters = tf.concat([mean, rho], -1)
    with tf.GradientTape() as tape:
        tape.watch(parameters)
        m, r = tf.split(parameters, 2, -1)
        each = tfd.kl_divergence(tfd.Normal(m, tf.nn.softplus(r)), tfd.Normal(prior_mean, prior_sd))
        loss = tf.reduce_sum(each * bayesian) / 50.0
    expected = tape.gradient(loss, parameters)
    m, sd = mean_field.unpack(parameters, bayesian)
    zero = tf.zeros_like(m)
    likelihood, q = mean_field.MeanField(zero, zero), mean_field.MeanField(m, sd)
    prior = mean_field.MeanField(prior_mean, prior_sd)
    found = mean_field.gaussian_gradient(likelihood, q, prior, bayesian, 50.0)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("estimator", ["flipout", "local", "sample"])
def test_outputs_have_the_exact_mean_and_variance_under_the_weights(estimator):
    vi = learner(estimator=estimator, prediction_draws=4000)
    state = {
        "mean": np.array([[[0.5, -1.0, 0.2, 0.1]]], np.float32),
        "sd": np.array([[[0.3, 0.2, 0.5, 0.4]]], np.float32),
    }
    inputs = np.array([[[1.0, 2.0, -1.0], [0.0, 0.5, 3.0]]], np.float32)
    predictive = vi.predict(state, inputs, seeds.block([0], "draws"))
    design = np.concatenate([inputs[0], np.ones((2, 1))], axis=1)
    variance = design**2 @ state["sd"][0, 0] ** 2 + NOISE**2
    np.testing.assert_allclose(predictive.mean[0, 0, :, 0], design @ state["mean"][0, 0], atol=0.1)
    np.testing.assert_allclose(predictive.variance[0, 0, :, 0], variance, rtol=0.1)


def test_tempering_adds_the_entropy_that_the_paper_says():
    vi = learner()
    state = vi.init(seeds.block([0], "temper"))
    widened = vi.broaden(state, Broadening("temper", beta=2 / 3))
    gained = np.log(widened["sd"]) - np.log(state["sd"])
    np.testing.assert_allclose(gained, -0.5 * np.log(2 / 3), rtol=1e-5)


@pytest.mark.parametrize("family", [mfvi, mesu])
def test_local_reparameterisation_refuses_convolutions(family):
    problem = Problem("classification", (4, 4, 1), 3, 10, 1)
    model = convnet.build(convnet.Settings(filters=(2,)), problem)
    with pytest.raises(LearnerError, match="flipout"):
        family.build(family.Settings(estimator="local"), problem, model)


@pytest.mark.long
def test_flipout_through_convolutions_predicts_as_explicit_weight_draws():
    problem = Problem("classification", (4, 4, 1), 3, 10, 1)
    model = convnet.build(convnet.Settings(filters=(2,)), problem)
    settings = mfvi.Settings(prediction_draws=3000)
    vi = mfvi.build(settings, problem, model)
    rng = np.random.default_rng(0)
    mean = rng.normal(size=(1, 1, model.size)).astype(np.float32)
    sd = np.where(model.is_bias(), 0, 0.5).astype(np.float32)[None, None]
    images = rng.normal(size=(1, 5, 4, 4, 1)).astype(np.float32)
    found = vi.predict({"mean": mean, "sd": sd}, images, seeds.block([0], "conv"))
    draws = mean + sd * rng.normal(size=(1, 3000, model.size)).astype(np.float32)
    explicit = tf.nn.softmax(model.forward(point(tf.constant(draws)), images[:, None]))
    np.testing.assert_allclose(found.probabilities[0, 0], np.mean(explicit[0], axis=0), atol=0.03)

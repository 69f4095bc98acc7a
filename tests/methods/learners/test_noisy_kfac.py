"""Noisy K-FAC against exact posteriors and its own equations."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Problem
from shiftbench.methods.combinators import beam
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.learners import noisy_kfac
from shiftbench.methods.models import mlp
from shiftbench.methods.networks import example_gradients, kronecker_factors
from shiftbench.methods.networks.model import log_likelihood, point
from shiftbench.methods.networks.training import Minibatch
from shiftbench.methods.posteriors import kronecker_gaussian
from tests.methods.learners.test_vogn import (
    NOISE,
    informative_regression,
    labelled,
    masked_rows_have_no_effect,
    regressor,
)
from tests.methods.networks import side_by_side


def precision_of(state, sizes):
    """Return the dense precision of a model with a single layer."""
    (size,) = sizes
    left, right = (
        state[k][0, 0].astype(float).reshape(n, n)
        for k, n in zip(("left", "right"), size, strict=True)
    )
    return np.kron(left, right) + state["ridge"][0, 0] * np.eye(size[0] * size[1])


@pytest.mark.long
def test_reaches_the_exact_posterior_of_a_linear_model_and_from_a_carried_prior():
    """The second task repeats the rows of the first, so that the sum of their terms is a pair."""
    learner = regressor(noisy_kfac, refresh=10)
    key = seeds.block([0], "noisy-kfac")
    state, precision, mean = learner.init(key), np.eye(4), np.zeros(4)
    for _ in range(2):
        batch, information, mean = informative_regression(
            lambda info, prior: np.linalg.inv(info + prior), precision, mean
        )
        precision = information + precision
        state, _ = learner.observe(state, batch, key)
        scale = np.sqrt(np.diag(precision))
        off = (precision_of(state, [(4, 1)]) - precision) / np.outer(scale, scale)
        assert np.abs(off).max() < 0.02
        root = np.linalg.cholesky(precision)
        assert np.abs(root.T @ (state["mean"][0, 0] - mean)).max() < 0.4


@pytest.mark.long
def test_elbo_equals_its_closed_form():
    batch, _, _ = informative_regression(
        lambda info, prior: np.linalg.inv(info + prior), np.eye(4), np.zeros(4)
    )
    learner = regressor(noisy_kfac, epochs=300, elbo_draws=1000, refresh=10)
    key = seeds.block([0], "elbo")
    state, info = learner.observe(learner.init(key), batch, key)
    m, precision = state["mean"][0, 0].astype(float), precision_of(state, [(4, 1)])
    covariance = np.linalg.inv(precision)
    design = np.concatenate([batch.inputs[0], np.ones((80, 1))], axis=1)
    square = (batch.targets[0, :, 0] - design @ m) ** 2 + np.einsum(
        "np,pq,nq->n", design, covariance, design
    )
    log_lik = -0.5 * np.log(2 * np.pi * NOISE**2) - square / (2 * NOISE**2)
    kl = 0.5 * (np.trace(covariance) + m @ m - 4 + np.linalg.slogdet(precision)[1])
    np.testing.assert_allclose(info["elbo"][0, 0], log_lik.sum() - kl, atol=0.3)
    np.testing.assert_allclose(info["kl"][0, 0], kl, rtol=1e-4)


# Build each learner once, since tracing takes most of the time.
@functools.cache
def classifier(**settings):
    problem = Problem("classification", (4,), 3, 20, 2)
    model = mlp.build(mlp.Settings(hidden=(5,)), problem)
    settings = {"epochs": 4, "batch_size": 8, "draws": 3, "beta": 0.2} | settings
    return noisy_kfac.build(noisy_kfac.Settings(**settings), problem, model)


def test_one_step_is_the_stated_equation_with_the_gradients_of_a_loop():
    """The step starts from q at the initial precision, with one draw and one full minibatch."""
    model = mlp.build(mlp.Settings(hidden=(5,)), Problem("classification", (4,), 3, 20, 2))
    sizes, rng = kronecker_factors.sizes(model), np.random.default_rng(0)
    batch = labelled()
    rows = Minibatch(
        tf.constant(batch.inputs[:, None]), tf.constant(batch.targets), tf.ones((1, 20))
    )
    mean, old = (tf.constant(rng.normal(size=(1, 1, model.size)), tf.float32) for _ in range(2))
    drawn = mean + 0.1
    first = kronecker_gaussian.first_state(1, sizes, 2.0)
    roots = [rng.normal(size=(n, n)) for size in sizes for n in size]
    left, right = (
        np.concatenate([(r @ r.T).ravel() for r in roots[i::2]])[None, None].astype("f4")
        for i in (0, 1)
    )
    precision = kronecker_gaussian.precision_of(
        tf.constant(left), tf.constant(right), tf.constant(first["ridge"]), sizes
    )
    prior = noisy_kfac._Prior(old, precision)
    factors = [tf.constant(0.5 * one) for one in (left, right)]
    spectrum = kronecker_gaussian.spectrum(precision)
    now = noisy_kfac._Iterate(
        mean, *factors, spectrum, tf.zeros_like(mean, tf.bool), tf.constant(0)
    )
    settings = noisy_kfac.Settings(draws=1, alpha=0.3, beta=0.2, refresh=1)
    new = noisy_kfac._update(settings, model, now, prior, rows, tf.constant([70.0]), drawn)
    with tf.GradientTape() as tape:
        tape.watch(drawn)
        outputs = model.forward(point(drawn), rows.inputs)
        value = tf.reduce_mean(log_likelihood(model, outputs, rows.targets))
    gradient = tape.gradient(value, drawn)
    x = np.concatenate([batch.inputs[0], np.ones((20, 1))], 1)
    expected = 0.8 * factors[0][0, 0, :25] + 0.2 * (x.T @ x / 20).ravel()
    np.testing.assert_allclose(new.left[0, 0, :25], expected, rtol=1e-4)
    logits = outputs[0, 0].numpy().astype(float)
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    g = np.eye(3)[batch.targets[0]] - p
    expected = 0.8 * factors[1][0, 0, 25:] + 0.2 * (g.T @ g / 20).ravel()
    np.testing.assert_allclose(new.right[0, 0, 25:], expected, rtol=1e-4, atol=1e-6)
    whole = noisy_kfac._precision(prior, new.left, new.right, tf.constant([70.0]), sizes)
    ascent = 70 * gradient - kronecker_gaussian.precision_times(precision, mean - old)
    of = kronecker_gaussian.spectrum(whole)
    moved = mean + 0.3 * kronecker_gaussian.covariance_times(of, ascent)
    np.testing.assert_allclose(new.mean, moved, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("draws", [1, 3])
def test_factors_and_sums_over_rows_and_draws_equal_a_loop(draws):
    model = mlp.build(mlp.Settings(hidden=(5,)), Problem("classification", (4,), 3, 20, 2))
    rng = np.random.default_rng(0)
    parameters = tf.constant(rng.normal(size=(1, 2 * draws, model.size)), tf.float32)
    batch = labelled()
    mask = tf.constant((np.arange(20)[None] < 13).astype("f4"))
    rows = Minibatch(tf.constant(batch.inputs[:, None]), tf.constant(batch.targets), mask)
    _, passed = example_gradients.signals(model, point(parameters), rows)
    left, right = kronecker_factors.sums(passed, mask, draws)
    gradients, _ = example_gradients.moments(passed, draws)
    np.testing.assert_allclose(
        example_gradients.sums(passed, draws), gradients, rtol=1e-4, atol=1e-4
    )
    own = np.zeros((2, 2), object)
    for k in range(2 * draws):
        _, of_one = example_gradients.signals(model, point(parameters[:, k : k + 1]), rows)
        for layer, one in enumerate(of_one):
            x = np.concatenate([one.x[0, 0].numpy(), np.ones((20, 1))], 1)[:13]
            delta = one.delta[0, 0].numpy()
            own[k // draws, layer] += (
                np.concatenate([(x.T @ x).ravel(), (delta.T @ delta).ravel()]) / draws
            )
    for h in range(2):
        first, second = own[h]
        expected = (
            np.concatenate([first[:25], second[:36]]),
            np.concatenate([first[25:], second[36:]]),
        )
        np.testing.assert_allclose(left[0, h], expected[0], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(right[0, h], expected[1], rtol=1e-4, atol=1e-4)


@pytest.mark.long
def test_masked_rows_have_no_effect():
    masked_rows_have_no_effect(classifier())


def test_parameters_that_no_row_touches_keep_their_prior():
    learner, key = classifier(), seeds.block([0], "untouched")
    batch = labelled()
    batch.inputs[..., 2] = 0.0
    state, _ = learner.observe(learner.init(key), batch, key)
    weights = state["mean"][0, 0, :20].reshape(4, 5)
    left = state["left"][0, 0, :25].reshape(5, 5)
    assert (weights[2] == 0).all() and (weights[[0, 1, 3]] != 0).all()
    assert (left[2] == 0).all() and (left[:, 2] == 0).all() and (np.diag(left)[[0, 1, 3]] > 0).all()


@pytest.mark.long
def test_a_beam_goes_over_it():
    problem = Problem("classification", (4,), 3, 20, 2)
    learner = beam.build(beam.Settings(size=1, broadening="geometric"), problem, classifier())
    key = seeds.block([0], "beam")
    state = learner.init(key)
    for task in range(2):
        state, info = learner.observe(learner.drift(state, key), labelled(seed=task), key)
    assert all(np.isfinite(a).all() for a in info.values())


@pytest.mark.parametrize("where", ["inputs", "targets"])
def test_a_seed_that_diverges_harms_no_other(where):
    side_by_side.fails_alone(regressor(noisy_kfac, epochs=2, refresh=1), where)


def test_a_seed_of_fewer_rows_learns_as_alone():
    learner, batch = classifier(refresh=3, batch_size=5), labelled()
    batch = Batch(*(np.repeat(array, 2, axis=0) for array in batch))
    batch.mask[1, 7:] = False
    side_by_side.have_the_bytes_of_each_alone(learner, batch, seeds.block([0, 1], "rows"))

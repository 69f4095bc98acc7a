"""Laplace propagation with Kronecker factors against published numbers and exact posteriors."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from shiftbench.config import components
from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Broadening, Problem
from shiftbench.methods.combinators import beam, reset, run_length
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.learners import map as map_learner
from shiftbench.methods.models import convnet, linear, mlp
from shiftbench.methods.networks import example_gradients, fisher, kronecker_factors
from shiftbench.methods.networks.model import Model, chain, log_likelihood, point
from shiftbench.methods.networks.training import Minibatch
from shiftbench.methods.posteriors import kronecker_gaussian

ROWS = np.arange(1, 9)
KRONECKER = {"curvature": "kronecker", "biases": "penalised", "fisher_labels": "expected"}


def tanh_network():
    """Return a 3-2-3 tanh network, and parameters .5 sin k converted from PyTorch's order."""
    layers = chain([("dense1", 3, 2), ("dense2", 2, 3)])

    def forward(apply, inputs):
        return apply(layers[1], tf.tanh(apply(layers[0], inputs)))

    numbers = 0.5 * np.sin(np.arange(1, 18))
    w1, b1, w2, b2 = np.split(numbers, [6, 8, 14])
    parts = w1.reshape(2, 3).T.ravel(), b1, w2.reshape(3, 2).T.ravel(), b2
    return Model(layers, forward, "categorical"), np.concatenate(parts)


def of_a_network():
    """Return the network's model, numbers, parameters, and rows of three classes."""
    model, numbers = tanh_network()
    x = np.stack([np.ones(8), np.sin(ROWS), np.cos(2 * ROWS)], -1)
    labels = np.array([[0, 1, 2, 0, 1, 2, 0, 1]])
    data = tuple(map(tf.constant, (x[None].astype("f4"), labels, np.ones((1, 8), bool))))
    return model, numbers, tf.constant(numbers[None, None], tf.float32), data


def log_posterior(model, numbers, parameters, data):
    """Return log likelihood plus log prior density without its normalising constant."""
    outputs = model.forward(point(parameters), data[0][:, None])
    log_lik = tf.reduce_sum(log_likelihood(model, outputs, data[1])).numpy()
    return log_lik - 0.5 * (numbers**2).sum()


def test_evidence_of_a_network_is_the_number_of_another_implementation():
    model, numbers, parameters, data = of_a_network()
    key = seeds.block([0], "golden")
    left, right = kronecker_factors.mean_fisher(model, parameters, data, "expected", 8, 3, key)
    sizes = kronecker_factors.sizes(model)
    posterior = kronecker_gaussian.precision_of(left, 8 * right, tf.ones((1, 1)), sizes)
    log_det = kronecker_gaussian.log_det(kronecker_gaussian.spectrum(posterior)).numpy().item()
    np.testing.assert_allclose(log_det, 5.567816012750, rtol=1e-6)
    marginal = log_posterior(model, numbers, parameters, data) - 0.5 * log_det
    np.testing.assert_allclose(marginal, -13.176866299901, rtol=1e-6)


def test_factors_with_the_biases_apart_have_the_evidence_of_laplace_torch():
    """laplace-torch keeps biases apart; ours treats them as weights of a constant input of 1."""
    model, numbers, parameters, data = of_a_network()
    key = seeds.block([0], "golden")
    found = kronecker_factors.mean_fisher(model, parameters, data, "expected", 8, 3, key)
    sizes = kronecker_factors.sizes(model)
    precision = kronecker_gaussian.precision_of(found[0], 8 * found[1], tf.ones((1, 1)), sizes)
    left, right = ([f.numpy()[0, 0].astype(float) for f in side] for side in precision[:2])
    np.testing.assert_allclose(
        right[0], [[0.24257557, 0.11544197], [0.11544197, 0.70346678]], rtol=1e-6
    )
    np.testing.assert_allclose(
        left[1][:2, :2], [[0.45259417, -0.04605121], [-0.04605121, 0.09919681]], rtol=1e-6
    )
    log_det = 0.0
    for a, b in zip(left, right, strict=True):
        values = np.linalg.eigvalsh(b)
        of_inputs = np.append(np.linalg.eigvalsh(a[:-1, :-1]), 1.0)
        log_det += np.log1p(np.outer(of_inputs, values)).sum()
    np.testing.assert_allclose(log_det, 6.619947279, rtol=1e-6)
    marginal = log_posterior(model, numbers, parameters, data) - 0.5 * log_det
    np.testing.assert_allclose(marginal, -13.702931933, rtol=1e-6)


def test_a_diagonal_has_the_evidence_of_laplace_torch():
    model, numbers, parameters, data = of_a_network()
    key = seeds.block([0], "golden")
    diagonal = fisher.mean_fisher(model, parameters, data, "expected", False, 8, 3, key)
    log_det = np.log1p(8 * diagonal.numpy().astype(float)).sum()
    np.testing.assert_allclose(log_det, 7.260976209, rtol=1e-6)
    marginal = log_posterior(model, numbers, parameters, data) - 0.5 * log_det
    np.testing.assert_allclose(marginal, -14.023446398, rtol=1e-6)


INPUTS = np.stack([np.sin(ROWS), np.cos(2 * ROWS)], -1)
DESIGN = np.concatenate([INPUTS, np.ones((8, 1))], 1)
TARGETS = np.stack([np.sin(2 * ROWS) + 0.5, np.cos(ROWS)], -1)


def exact(precision, pull, targets):
    """Return evidence, precision and pull of a linear-Gaussian model with two outputs."""
    covariance = 0.25 * np.eye(8) + DESIGN @ np.linalg.inv(precision) @ DESIGN.T
    off = targets - DESIGN @ np.linalg.solve(precision, pull)
    evidence = -0.5 * (off * np.linalg.solve(covariance, off)).sum()
    evidence -= np.linalg.slogdet(2 * np.pi * covariance)[1]
    return evidence, precision + DESIGN.T @ DESIGN / 0.25, pull + DESIGN.T @ targets / 0.25


@pytest.mark.long
def test_two_tasks_of_a_linear_gaussian_model_have_the_exact_evidence_and_mean():
    """With equal inputs, a sum of two Kronecker pairs is a pair, before and after broadening."""
    problem = Problem("regression", (2,), 2, 8, 2)
    model = linear.build(linear.Settings(noise_sd=0.5), problem)
    settings = map_learner.Settings(
        **KRONECKER, epochs=1500, batch_size=8, learning_rate=0.01, prior_sd=2**-0.5, start="prior"
    )
    learner, key = map_learner.build(settings, problem, model), seeds.block([0], "evidence")

    def learn(state, targets):
        rows = (a[None].astype("f4") for a in (INPUTS, targets))
        state, info = learner.observe(state, Batch(*rows, np.ones((1, 8), bool)), key)
        return state, info["log_evidence"][0, 0]

    state, found = learn(learner.init(key), TARGETS)
    evidence, precision, pull = exact(2 * np.eye(3), np.zeros((3, 2)), TARGETS)
    np.testing.assert_allclose(evidence, -26.0887552702, rtol=1e-9)
    np.testing.assert_allclose(found, evidence, atol=2e-3)
    mean = np.linalg.solve(precision, pull)
    np.testing.assert_allclose(state["mean"][0, 0].reshape(3, 2), mean, atol=1e-3)
    second = TARGETS[::-1] + 0.3
    # Priors as in a beam and in run lengths: unchanged, three broadenings, and the first prior.
    for beta, share in ((1, 0), (0.4, 0), (0.4, 1), (0.4, 0.6), (0, 1)):
        kind = {0: "temper", 1: "temper-prior", 0.6: "geometric"}[share]
        prior = learner.broaden(state, Broadening(kind, beta)) if beta else learner.init(key)
        wide = beta * precision + 2 * share * np.eye(3)
        evidence, after, pulled = exact(wide, beta * pull, second)
        end, found = learn(prior, second)
        np.testing.assert_allclose(found, evidence, atol=3e-3)
        mean = np.linalg.solve(after, pulled)
        np.testing.assert_allclose(end["mean"][0, 0].reshape(3, 2), mean, atol=1e-3)


def test_factors_of_a_convolution_sum_patches_and_average_gradients_over_positions():
    model = convnet.build(
        convnet.Settings(filters=(2,)), Problem("classification", (4, 4, 1), 3, 6, 1)
    )
    rng = np.random.default_rng(0)
    parameters = tf.constant(rng.normal(size=(1, 1, model.size)), tf.float32)
    images = rng.normal(size=(1, 1, 6, 4, 4, 1)).astype("f4")
    mask = np.array([[1, 1, 1, 1, 1, 0]], "f4")
    rows = Minibatch(*map(tf.constant, (images, rng.integers(0, 3, (1, 6)), mask)))
    _, passed = example_gradients.signals(model, point(parameters), rows)
    left, right = kronecker_factors.sums(passed, rows.mask, 1)
    padded = np.pad(images[0, 0, :, :, :, 0], ((0, 0), (1, 1), (1, 1)))
    expected_left, expected_right = np.zeros((10, 10)), np.zeros((2, 2))
    delta = passed[0].delta[0, 0].numpy().reshape(6, 4, 4, 2)
    for n in range(5):
        for i in range(4):
            for j in range(4):
                patch = np.append(padded[n, i : i + 3, j : j + 3].ravel(), 1)
                expected_left += np.outer(patch, patch)
                expected_right += np.outer(delta[n, i, j], delta[n, i, j]) / 16
    np.testing.assert_allclose(left[0, 0, :100], expected_left.ravel(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(right[0, 0, :4], expected_right.ravel(), rtol=1e-4, atol=1e-6)


# Build it once, since tracing takes most of the time.
@functools.cache
def small():
    problem = Problem("classification", (4,), 3, 20, 3)
    model = mlp.build(mlp.Settings(hidden=(5,)), problem)
    return map_learner.build(map_learner.Settings(**KRONECKER, epochs=3), problem, model), problem


def labelled(seed=0, mask=None):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(1, 20, 4)).astype(np.float32)
    mask = np.ones((1, 20), bool) if mask is None else mask
    return Batch(inputs, rng.integers(0, 3, (1, 20)), mask)


@pytest.mark.long
def test_masked_rows_have_no_effect():
    learner, _ = small()
    mask = np.arange(20)[None] < 13
    batch, key = labelled(mask=mask), seeds.block([0], "mask")
    other = batch._replace(inputs=np.where(mask[..., None], batch.inputs, 1e3))
    one, _ = learner.observe(learner.init(key), batch, key)
    two, _ = learner.observe(learner.init(key), other, key)
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])


@pytest.mark.parametrize(
    ("combinator", "settings"),
    [
        pytest.param(beam, {"size": 1, "broadening": "geometric"}, marks=pytest.mark.long),
        (beam, {"size": 1, "broadening": "diffuse"}),
        pytest.param(reset, {}, marks=pytest.mark.long),
        pytest.param(run_length, {"keep": 2}, marks=pytest.mark.long),
    ],
)
def test_combinators_go_over_it(combinator, settings):
    inner, problem = small()
    learner = combinator.build(combinator.Settings(**settings), problem, inner)
    key = seeds.block([0], "over")
    state = learner.init(key)
    for task in range(2):
        state = learner.drift(state, key)
        state, _ = learner.observe(state, labelled(task), key)
    assert all(np.isfinite(array).all() for name, array in state.items() if "base." in name)
    found = learner.predict(state, labelled(9).inputs, key).probabilities
    np.testing.assert_allclose(found.sum(-1), 1, rtol=1e-5)


def test_settings_that_have_no_factors_are_refused_with_the_remedy():
    others = {
        "importance": ("path", "fisher"),
        "fisher_estimator": ("summed", "per-example"),
        "units": ("row", "task"),
        "anchor": ("each", "last"),
        "prior": ("flat", "normal"),
        "biases": ("free", "penalised"),
        "optimiser_state": ("kept", "reset"),
    }
    for name, (other, needed) in others.items():
        settings = components.check("learners", "map", KRONECKER | {name: other})
        (said,) = components.unsupported("learners", "map", settings)
        assert f"`{name}: {needed}`" in said
    assert not components.unsupported(
        "learners", "map", components.check("learners", "map", KRONECKER)
    )

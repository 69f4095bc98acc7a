"""Steps of a mean-field Gaussian against their equations, and Vadam against its algorithm."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core.interface import Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.models import linear
from shiftbench.methods.networks.diagonal_curvature import estimate
from shiftbench.methods.networks.diagonal_steps import Gaussian, Iterate, Rates, begin, step
from shiftbench.methods.networks.training import Minibatch


def test_one_step_is_equation_52_with_heavy_ball_and_with_exponential_momentum():
    rng = np.random.default_rng(0)
    mean, old, g, velocity = (rng.normal(size=(1, 1, 5)).astype("f4") for _ in range(4))
    p, square, prior = (rng.uniform(1, 2, (1, 1, 5)).astype("f4") for _ in range(3))
    now = Iterate(*map(tf.constant, (mean, p, p**-0.5, velocity)), tf.zeros((1, 1, 5), bool))
    for kind, gain in (("heavy-ball", 1.0), ("exponential", 1 - 0.9)):
        rates = Rates(0.1, 0.3, 0.9, kind)
        sizes = tf.constant([7.0]), tf.constant([70.0])
        new = step(rates, now, Gaussian(old, prior), -g, square, *sizes)
        precision = 0.7 * p + 0.3 * (10 * square + prior)
        moved = 0.9 * velocity + gain * (10 * g + prior * (mean - old)) / precision
        np.testing.assert_allclose(new.precision, precision, rtol=1e-5)
        np.testing.assert_allclose(new.mean, mean - 0.1 * moved, rtol=1e-4, atol=1e-5)


def test_one_whole_step_is_bayes_with_the_new_precision_and_not_with_the_old_of_equation_53():
    """With rates of 1 and the exact curvature h of a quadratic, eq. 52 is Newton's step."""
    h, optimum, prior_mean = (np.array([v], "f4").reshape(1, 1, 1) for v in (3.0, 0.8, -0.5))
    mean, old, prior = (np.full((1, 1, 1), v, "f4") for v in (2.0, 7.0, 1.5))
    gradient = h * (mean - optimum)
    now = begin(Rates(1.0, 1.0), Gaussian(tf.constant(mean), tf.constant(old)))
    one = tf.constant([1.0])
    new = step(Rates(1.0, 1.0), now, Gaussian(prior_mean, prior), -gradient, h, one, one)
    exact = (h * optimum + prior * prior_mean) / (h + prior)
    np.testing.assert_allclose(new.precision, h + prior)
    np.testing.assert_allclose(new.mean, exact, rtol=1e-6)
    printed = mean - (gradient + prior * (mean - prior_mean)) / old
    assert abs(printed - exact).item() > 0.3


X = np.stack([np.sin(np.arange(1, 9)), np.cos(2.0 * np.arange(1, 9))], axis=1)
LABELS = np.array([0, 1, 1, 0, 1, 0, 1, 1])
STEPS, DRAWS, ROWS = 5, 2, (3, 7, 1, 4)
NOISE = np.sin(
    3.0 * np.arange(STEPS)[:, None, None] + np.arange(1, 1 + 6 * DRAWS).reshape(DRAWS, 6)
)


def mean_gradient(theta: np.ndarray) -> np.ndarray:
    """Return the gradient of the mean negative log likelihood of ROWS in weights and biases."""
    logits = X[list(ROWS)] @ theta[:4].reshape(2, 2) + theta[4:]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    delta = (p - np.eye(2)[LABELS[list(ROWS)]]) / len(ROWS)
    return np.concatenate([(X[list(ROWS)].T @ delta).ravel(), delta.sum(axis=0)])


def published_vadam(mean, prior_mean, prior_precision, first_precision, count):
    """Run Khan et al. 2018, Fig. 1, with a prior mean and several draws, as in their code."""
    alpha, gamma1, gamma2 = 0.1, 0.9, 0.7
    mu, m, s = mean, np.zeros(6), (first_precision - prior_precision) / count
    for t in range(1, STEPS + 1):
        sigma = 1 / np.sqrt(count * s + prior_precision)
        g = np.array([mean_gradient(mu + sigma * e) for e in NOISE[t - 1]])
        m = gamma1 * m + (1 - gamma1) * (g.mean(0) + prior_precision * (mu - prior_mean) / count)
        s = gamma2 * s + (1 - gamma2) * (g**2).mean(0)
        corrected = np.sqrt(s / (1 - gamma2**t)) + prior_precision / count
        mu = mu - alpha * m / (1 - gamma1**t) / corrected
    return mu, count * s + prior_precision


@pytest.mark.parametrize("first_precision", [1.5, 9.0])
def test_vadam_is_a_loop_of_its_published_algorithm(first_precision):
    mean, prior_mean = 0.3 * np.cos(np.arange(6.0)), 0.2 * np.sin(np.arange(6.0))
    prior_precision, count = 1.5, 8.0
    expected = published_vadam(mean, prior_mean, prior_precision, first_precision, count)
    model = linear.build(linear.Settings(), Problem("classification", (2,), 2, 8, 1))
    rates = Rates(0.1, 0.3, 0.9, "gradient", "root")
    flat = [tf.constant(a.reshape(1, 1, 6), tf.float32) for a in (mean, prior_mean)]
    prior = Gaussian(flat[1], tf.fill([1, 1, 6], prior_precision))
    now = begin(rates, Gaussian(flat[0], tf.fill([1, 1, 6], first_precision)))
    # The rows of a minibatch, and a masked one.
    chosen = [*ROWS, 0]
    rows = Minibatch(
        tf.constant(X[chosen][None, None], tf.float32),
        tf.constant(LABELS[chosen][None]),
        tf.constant([[1.0] * len(ROWS) + [0.0]]),
    )
    for noise in NOISE:
        weights = noise[:, :4].reshape(DRAWS, 2, 2).swapaxes(0, 1)
        packed = np.concatenate([weights.ravel(), noise[:, 4:].ravel()]).astype("f4")[None]
        found = estimate("minibatch", DRAWS, model, now.mean, now.sd, rows, tf.constant(packed))
        now = step(rates, now, prior, *found, tf.reduce_sum(rows.mask, 1), tf.constant([count]))
    np.testing.assert_allclose(now.mean[0, 0], expected[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(now.precision[0, 0], expected[1], rtol=1e-4)


def test_an_empty_minibatch_moves_nothing_and_is_no_step():
    rates = Rates(0.1, 0.3, 0.9, "gradient", "root")
    ones = tf.ones([2, 1, 3])
    now = begin(rates, Gaussian(ones, 2 * ones))
    new = step(
        rates,
        now,
        Gaussian(0 * ones, ones),
        ones,
        ones,
        *map(tf.constant, ([0.0, 4.0], [8.0, 8.0])),
    )
    for before, after in zip(tf.nest.flatten(now), tf.nest.flatten(new), strict=True):
        np.testing.assert_array_equal(before[0], after[0])
        assert (np.asarray(before[1]) != np.asarray(after[1])).all()

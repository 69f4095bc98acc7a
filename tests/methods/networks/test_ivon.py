"""The steps of IVON against its public code, fixed points and a loop of the formulas."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core.interface import Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.models import linear
from shiftbench.methods.networks.diagonal_curvature import estimate, products_with_noise
from shiftbench.methods.networks.diagonal_steps import Gaussian, Iterate, Rates, begin, step
from shiftbench.methods.networks.training import Minibatch

NUMBERS = np.arange(1, 9)
X = np.stack([np.ones(8), np.sin(NUMBERS), np.cos(2 * NUMBERS)], axis=-1)
Y = np.array([0, 1, 1, 0, 1, 0, 1, 1])
W = (0.1, -0.2, 0.3)
BETA2 = 0.99


def shaped(numbers) -> tf.Tensor:
    return tf.constant(np.reshape(numbers, (1, 1, -1)), tf.float32)


def noise_of_step(t: int) -> tf.Tensor:
    """Return the noise [S, H, K, P] of a step, numbered from 1."""
    return shaped(np.sin(3 * t + np.arange(1, 4)))[:, :, None]


def logistic_steps(rates: Rates, now: Iterate, prior: Gaussian, x, y, steps: int) -> Iterate:
    """Return the iterate after steps on all rows of a logistic regression without a bias."""
    rows, count = (tf.constant([float(len(y))]) for _ in range(2))
    for t in range(1, steps + 1):
        noise = noise_of_step(t)
        drawn = (now.mean + now.sd * noise[:, :, 0]).numpy()[0, 0].astype(float)
        gradient = shaped(x.T @ (y - 1 / (1 + np.exp(-x @ drawn))))  # gradient of log p
        curvature = products_with_noise(gradient[:, :, None], now.sd, noise)
        now = step(rates, now, prior, gradient, curvature, rows, count)
    return now


def ivon(alpha) -> Rates:
    return Rates(alpha, 1 - BETA2, 0.9, "likelihood", positive=True)


def first_task(rates: Rates, steps: int, done: float = 0.0) -> Iterate:
    """Run the toy problem with h0 = 1, eight rows and weight decay .05."""
    now = begin(rates, Gaussian(shaped(W), tf.fill([1, 1, 3], 8 * 1.05)))
    now = now._replace(steps=(now.steps[0] + done,))
    return logistic_steps(rates, now, Gaussian(shaped([0.0] * 3), shaped([0.4] * 3)), X, Y, steps)


RESCALED = 0.1 * 1.05
"""The learning rate of the public code times the first precision of an example."""


def near(found, expected, rtol=2e-5):
    np.testing.assert_allclose(np.squeeze(found), expected, rtol=rtol, atol=2e-6)


def test_the_first_step_has_the_numbers_of_the_public_code():
    now = first_task(ivon(RESCALED), 1)
    near(now.mean, (0.1189864215, -0.1782636946, 0.2837115520))
    near((now.precision - 0.4) / 8, (0.9942671931, 0.9957472690, 0.9888759310))
    near(now.velocity / 8, (-0.0193827591, -0.0206482686, 0.0146158825))


def test_five_steps_have_the_numbers_of_the_public_code():
    now = first_task(ivon(RESCALED), 5)
    near(now.mean, (0.1658289597, -0.1123118680, 0.2217632179))
    near((now.precision - 0.4) / 8, (0.9572963403, 0.9619804587, 0.9499678417))
    near(now.sd, (0.3522705833, 0.3514543664, 0.3535590756))


def test_steps_that_are_neither_rescaled_nor_corrected_have_its_numbers_too():
    """After many steps, the bias correction of the momentum is one."""
    now = first_task(ivon(0.1), 5, done=1e6)
    near(now.mean, (0.1144482783, -0.1745962562, 0.2746949415))
    near((now.precision - 0.4) / 8, (0.9572945344, 0.9620807354, 0.9498864459))


def test_a_second_task_has_the_first_ones_posterior_as_its_prior():
    """Rows 1 to 4 with flipped labels; h restarts, and the scale is 1 + .4 / 4."""
    first, rates = first_task(ivon(RESCALED), 5), ivon(0.1 * 1.1)
    near(first.precision, (8.0583707221, 8.0958436692, 7.9997427338))
    prior = Gaussian(first.mean, first.precision)
    now = begin(rates, Gaussian(first.mean, 4.0 + first.precision))
    now = logistic_steps(rates, now, prior, X[:4], 1 - Y[:4], 5)
    near(now.mean, (0.1641467106, -0.1274012184, 0.2005134743))
    near(now.precision, (11.8817676736, 11.9138637770, 11.7954191505))


# Orthogonal columns separate the parameters: each has mean loss a / 2 (w - c)^2.
SIGNS = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
CURVATURE, TARGET, DECAY = np.array([0.5, 1, 2, 1]), np.array([1, -1, 0.5, 0.3]), 0.2


@pytest.mark.long
def test_with_a_pair_of_opposite_draws_a_quadratic_ends_at_its_exact_posterior():
    """The last parameter is the bias."""
    inputs = SIGNS * np.sqrt(CURVATURE[:3])
    targets = inputs @ TARGET[:3] + TARGET[3]
    model = linear.build(linear.Settings(noise_sd=1.0), Problem("regression", (3,), 1, 4, 1))
    rows = Minibatch(
        tf.constant(inputs[None, None], tf.float32),
        tf.constant(targets[None, :, None], tf.float32),
        tf.ones((1, 4)),
    )
    noise = tf.constant([[1.0] * 4 + [-1.0] * 4])
    prior = Gaussian(shaped([0.0] * 4), shaped([4 * DECAY] * 4))
    rates = Rates(0.2, 0.1, 0.5, "likelihood", positive=True)
    now = begin(rates, Gaussian(shaped([0.0] * 4), shaped([4 * (1 + DECAY)] * 4)))
    for _ in range(200):
        found = estimate("reparameterised", 2, model, now.mean, now.sd, rows, noise)
        now = step(rates, now, prior, *found, tf.constant([4.0]), tf.constant([4.0]))
    near(now.precision, 4 * (CURVATURE + DECAY), 1e-4)
    near(now.mean, CURVATURE * TARGET / (CURVATURE + DECAY), 1e-4)
    near(now.mean[0, 0, :3], (0.7142857143, -0.8333333333, 0.4545454545), 1e-4)


@pytest.mark.parametrize(("beta", "expected"), [(0.01, 1.008277), (0.1, 1.078460)])
def test_one_normal_draw_leaves_the_equilibrium_above_the_curvature(beta, expected):
    """At the mode c = N a z^2; averaged over z by quadrature, h is stationary at `expected`."""
    z, weights = np.polynomial.hermite_e.hermegauss(40)
    weights, count, decay = weights / weights.sum(), 10.0, 0.2
    ones = np.ones((len(z), 1, 1), "f4")
    precision = tf.constant(ones * count * (expected + decay))
    rates = Rates(0.0, beta, 0.9, "likelihood", positive=True)
    now = begin(rates, Gaussian(tf.constant(0 * ones), precision))
    gradient = tf.constant((-count * z).reshape(-1, 1, 1), tf.float32) * now.sd
    curvature = products_with_noise(
        gradient[:, :, None], now.sd, tf.constant(z.reshape(-1, 1, 1, 1), tf.float32)
    )
    counts = tf.fill([len(z)], count)
    prior = Gaussian(tf.constant(0 * ones), tf.constant(count * decay * ones))
    new = step(rates, now, prior, gradient, curvature, counts, counts)
    moved = weights @ (new.precision - precision).numpy().ravel()
    assert abs(moved) / (beta * count) < 1e-5
    x = expected - 1
    assert x == pytest.approx(beta * (x**2 + 2) / (2 * (expected + decay)), abs=2e-6)


@pytest.mark.parametrize("curvature", [-1e6, -30.0, -1.0, 0.0, 1e6])
def test_a_precision_stays_positive_whatever_the_curvature(curvature):
    rates = Rates(0.1, 0.3, 0.9, "likelihood", positive=True)
    now = begin(rates, Gaussian(shaped([0.0]), shaped([2.0])))
    one = tf.constant([1.0])
    prior = Gaussian(shaped([0.0]), shaped([0.5]))
    new = step(rates, now, prior, shaped([0.0]), shaped([curvature]), one, one)
    u = 0.3 * (curvature + 0.5 - 2) / 2
    assert new.precision.numpy().item() == pytest.approx(2 * (1 + u + u * u / 2), rel=1e-5)
    assert new.precision.numpy().item() >= 1.0


def test_its_estimate_is_a_loop_over_draws_and_rows():
    """Two hypotheses and three draws; the last two rows are masked."""
    model = linear.build(linear.Settings(), Problem("classification", (3,), 2, 8, 1))
    rng, draws, sd = np.random.default_rng(0), 3, 0.4
    mean, z = rng.normal(size=(2, 8)), rng.normal(size=(draws, 8))
    rows = Minibatch(
        tf.constant(X[None, None], tf.float32),
        tf.constant(Y[None]),
        tf.constant([[1.0] * 6 + [0.0] * 2]),
    )
    noise = tf.constant(z.reshape(1, -1), tf.float32)
    means = tf.constant(mean[None], tf.float32)
    found = estimate("reparameterised", draws, model, means, tf.fill(means.shape, sd), rows, noise)
    for h in range(2):
        gradient, curvature = np.zeros(8), np.zeros(8)
        for one in z:
            theta = mean[h] + sd * one
            logits = X[:6] @ theta[:6].reshape(3, 2) + theta[6:]
            p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
            delta = np.eye(2)[Y[:6]] - p
            g = np.concatenate([(X[:6].T @ delta).ravel(), delta.sum(axis=0)])
            gradient, curvature = gradient + g / draws, curvature - g * one / sd / draws
        np.testing.assert_allclose(found[0][0, h], gradient, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found[1][0, h], curvature, rtol=1e-4, atol=1e-4)

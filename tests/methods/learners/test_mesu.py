"""MESU against golden numbers of its formulas and the exact posterior of a window."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Broadening, Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.learners import mesu
from shiftbench.methods.models import linear, mlp
from shiftbench.methods.networks.mean_field import MeanField
from tests.methods.learners.parameters import shaped
from tests.resuming import goes_on_from_any_step

NUMBERS = np.arange(1, 9)
X = np.stack([np.ones(8), np.sin(NUMBERS), np.cos(2 * NUMBERS)], axis=-1)
Y = np.array([0, 1, 1, 0, 1, 0, 1, 1])
KEY = seeds.block([0, 1], "mesu")


def test_five_steps_of_a_logistic_regression_have_the_golden_numbers():
    rule = mesu.Rule(window=5, prior_sd=0.5, largest_step=0.9)
    q = MeanField(shaped(0.1, -0.2, 0.3), shaped(0.2, 0.2, 0.2))
    for t in range(1, 6):
        z = np.sin(3 * t + np.arange(1, 4))
        drawn = q.mean.numpy()[0, 0] + q.sd.numpy()[0, 0] * z
        gradient = X.T @ (1 / (1 + np.exp(-X @ drawn)) - Y) / 8
        q = mesu.step(
            rule, q, MeanField(shaped(*gradient), shaped(*gradient * z)), tf.constant([8.0])
        )
    near = {"rtol": 1e-5, "atol": 1e-6}
    np.testing.assert_allclose(q.mean[0, 0], (0.2566028395, 0.0646237908, 0.0012441626), **near)
    np.testing.assert_allclose(q.sd[0, 0], (0.2586093465, 0.2258249915, 0.2956555790), **near)


def test_on_a_quadratic_it_settles_at_the_exact_posterior_of_the_window():
    """Minibatches of four rows have the summed loss a / 2 (w - c)^2."""
    a, c, window, prior_sd = np.array([0.5, 1, 8]), np.array([1.0, -1, 0.5]), 25.0, 0.7
    rule = mesu.Rule(window, prior_sd, 0.1)
    q = MeanField(shaped(0.0, 0.0, 0.0), shaped(0.4, 0.01, 0.2))
    for _ in range(500):
        # Gradients of the mean loss of a row, without noise.
        gradient = shaped(*a) / 4 * (q.mean - shaped(*c)), shaped(*a) / 4 * q.sd
        q = mesu.step(rule, q, MeanField(*gradient), tf.constant([4.0]))
    precision = window * a + prior_sd**-2
    np.testing.assert_allclose(q.sd[0, 0], precision**-0.5, rtol=1e-4)
    np.testing.assert_allclose(q.mean[0, 0], window * a * c / precision, rtol=1e-4)


def test_a_change_is_at_most_a_share_of_the_deviation_and_leaves_it_positive():
    rule = mesu.Rule(10, 1.0, 0.3)
    q = MeanField(shaped(0.0, 0.0), shaped(0.2, 0.2))
    new = mesu.step(rule, q, MeanField(shaped(1e6, -1e6), shaped(1e6, -1e6)), tf.constant([1.0]))
    np.testing.assert_allclose(new.mean[0, 0], (-0.06, 0.06), rtol=1e-6)
    np.testing.assert_allclose(new.sd[0, 0], (0.14, 0.26), rtol=1e-6)


@pytest.mark.long
def test_a_learner_of_a_linear_model_knows_the_last_window():
    """After two windows, only what the prior pull leaves of an old task remains."""
    problem = Problem("regression", (1,), 1, 10, 2)
    model = linear.build(linear.Settings(noise_sd=1.0), problem)
    settings = {"window": 40, "batch_size": 10, "epochs": 400, "estimator": "local", "draws": 8}
    learner = mesu.build(mesu.Settings(**settings), problem, model)
    inputs = np.tile(np.tile(np.float32([1, -1]), 5)[:, None], (2, 1, 1))
    state = learner.init(KEY)
    for target in (1.0, -0.5):
        batch = Batch(inputs, target * (inputs + 1), np.ones((2, 10), bool))
        state, info = learner.observe(state, batch, KEY)
        precision = 40 * 10 + 1
        np.testing.assert_allclose(state["sd"], precision**-0.5, rtol=0.1)
        assert np.abs(state["mean"] - target * 400 / precision).max() * precision**0.5 < 1.0
    assert (info["steps"] == 400).all() and np.isfinite(info["elbo"]).all()


@pytest.mark.long
def test_the_evidence_has_the_state_before_as_its_prior_and_steps_are_resumed():
    problem = Problem("classification", (4,), 3, 20, 2)
    model = mlp.build(mlp.Settings(hidden=(5,)), problem)
    settings = {"window": 50, "batch_size": 8, "epochs": 3, "draws": 2}
    learner = mesu.build(mesu.Settings(**settings), problem, model)
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(2, 20, 4)).astype(np.float32)
    batch = Batch(inputs, rng.integers(0, 3, (2, 20)), np.ones((2, 20), bool))
    before = learner.init(KEY)
    goes_on_from_any_step(learner, before, batch, KEY)
    after, info = learner.observe(before, batch, KEY)
    ratio = (after["sd"] / before["sd"]) ** 2
    distance = ((after["mean"] - before["mean"]) / before["sd"]) ** 2
    kl = 0.5 * (ratio + distance - 1 - np.log(ratio)).sum(-1)
    np.testing.assert_allclose(info["kl"], kl, rtol=1e-4)
    wide = learner.broaden(after, Broadening("geometric", beta=0.0))
    assert (wide["mean"] == 0).all() and (wide["sd"] == 1).all()

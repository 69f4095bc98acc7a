"""SGLD against the exact posterior, up to Monte Carlo error and the bias of its step size."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Broadening, Problem
from shiftbench.methods.learners import sgld
from shiftbench.methods.models import linear
from shiftbench.methods.networks.model import glorot
from tests.methods.networks import side_by_side

NOISE, ROWS, CHAINS, DRAWS = 0.5, 40, 10, 60
KEY = seeds.block(range(CHAINS), "sgld")
P = 3
FALLING = {
    "epochs": 8, "draws": 4, "last_rate_share": 0.25, "power": 1.0, "learning_rate": 0.01
}  # fmt: skip


@functools.cache
def built(heads=1, **settings):
    """Return a learner of two coefficients and a bias; with heads, of two classes per head."""
    problem = Problem("regression", (2,), 1, ROWS, 2)
    if heads > 1:
        problem = Problem("classification", (2,), 2 * heads, ROWS, 2, heads=heads)
    model = linear.build(linear.Settings(noise_sd=NOISE), problem)
    given = {"batch_size": ROWS, "draws": DRAWS, "last_rate_share": 1.0} | settings
    return sgld.build(sgld.Settings(**given), problem, model), model


def regression(seed=0, spread=1.0):
    """Return equal rows for every chain, and their design with a column of ones."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROWS, 2)) * [1.0, spread]
    y = x @ [0.7, -0.4] + 0.3 + NOISE * rng.normal(size=ROWS)
    batch = Batch(
        np.tile(x, (CHAINS, 1, 1)).astype(np.float32),
        np.tile(y[:, None], (CHAINS, 1, 1)).astype(np.float32),
        np.ones((CHAINS, ROWS), bool),
    )
    return batch, np.column_stack([x, np.ones(ROWS)]), y


def posterior(design, y, prior_precision=1.0, prior_mean=0.0):
    """Return mean and precision of the exact posterior."""
    precision = prior_precision * np.eye(P) + design.T @ design / NOISE**2
    pull = prior_precision * np.full(P, prior_mean) + design.T @ y / NOISE**2
    return np.linalg.solve(precision, pull), precision


def rate(epsilon, sd=1.0):
    """Return the rate for which a step is `epsilon` = 2 rate G / N under a prior of this sd."""
    return float(epsilon / 2 * (ROWS + sd**-2))


def of_chains(precision, epsilon, thinning):
    """Return eigenvectors, variances along them, and standard errors of mean and variance.

    Along an eigenvector of curvature h, the chain is an autoregression with coefficient
    r = 1 - epsilon h / 2 and variance 1 / (h (1 - epsilon h / 4)). Draws L steps apart have
    correlation c = r^L, so n draws have the mean's precision of n (1 - c) / (1 + c) independent
    ones, and that of the variance with c^2 in place of c.
    """
    curvature, vectors = np.linalg.eigh(precision)
    variance = 1 / (curvature * (1 - epsilon * curvature / 4))
    c = (1 - epsilon * curvature / 2) ** thinning
    number = CHAINS * DRAWS
    mean_se = np.sqrt(variance / number * (1 + c) / (1 - c))
    variance_se = variance * np.sqrt(2 / number * (1 + c**2) / (1 - c**2))
    return vectors, variance, mean_se, variance_se


@pytest.mark.long
@pytest.mark.parametrize("step", [0.1, 1.6], ids=["small", "large"])
def test_draws_are_those_of_the_exact_posterior_and_of_the_bias_of_the_steps(step):
    """step: epsilon times the largest curvature. The bias is 1 / (1 - step / 4)."""
    batch, design, y = regression(spread=0.6)
    mean, precision = posterior(design, y)
    epsilon = step / np.linalg.eigvalsh(precision)[-1]
    thinning = 8
    learner, _ = built(learning_rate=rate(epsilon), epochs=2 * thinning * DRAWS, elbo_draws=100)
    state, info = learner.observe(learner.init(KEY), batch, KEY)
    assert (info["steps"] == 2 * thinning * DRAWS).all()
    np.testing.assert_allclose(info["effective_draws"], DRAWS, rtol=1e-4)
    vectors, variance, mean_se, variance_se = of_chains(precision, epsilon, thinning)
    along = (state["draws"].reshape(-1, P) - mean) @ vectors
    assert (np.abs(along.mean(0)) < 4 * mean_se).all()
    assert (np.abs((along**2).mean(0) - variance) < 4 * variance_se).all()
    exact = 1 / np.linalg.eigvalsh(precision)
    biased = np.abs((along**2).mean(0) - exact) > 4 * variance_se
    assert biased[-1] == (step > 1)  # the bias of the small step is below the error
    if step < 1:
        bound = _exact_evidence(design, y) - _worth_of_correlations(precision)
        # The loss from errors in the moments of one chain, to second order.
        each = mean_se**2 / (2 * variance) + variance_se**2 / (4 * variance**2)
        lost = CHAINS * each.sum()
        assert abs(info["log_evidence"].mean() - (bound - lost)) < lost < 0.5


def _exact_evidence(design, y):
    covariance = NOISE**2 * np.eye(ROWS) + design @ design.T
    log_det = np.linalg.slogdet(2 * np.pi * covariance)[1]
    return -0.5 * (y @ np.linalg.solve(covariance, y) + log_det)


def _worth_of_correlations(precision):
    """Return KL(q || posterior) for q with equal variances and no correlations."""
    inverse = np.linalg.inv(precision)
    log_dets = np.linalg.slogdet(inverse)[1] - np.log(np.diag(inverse)).sum()
    return 0.5 * (np.sum(np.diag(precision) * np.diag(inverse)) - P + log_dets)


@pytest.mark.long
def test_minibatches_weigh_prior_and_rows_as_the_whole_task_does():
    """A tight prior away from the optimum of the rows exposes a wrong weight of either."""
    batch, design, y = regression()
    tight = 0.1
    mean, precision = posterior(design, y, tight**-2)
    epsilon = 0.05 / np.linalg.eigvalsh(precision)[-1]
    learner, _ = built(learning_rate=rate(epsilon, tight), batch_size=8, epochs=400, prior_sd=tight)
    state, _ = learner.observe(learner.init(KEY), batch, KEY)
    thinning = 400 * 5 // 2 // DRAWS
    _, _, mean_se, _ = of_chains(precision, epsilon, thinning)
    error = state["draws"].mean((0, 1, 2)) - mean
    assert np.abs(error).max() < 4 * mean_se.max()
    assert np.abs(mean - np.linalg.lstsq(design, y, rcond=None)[0]).max() > 20 * mean_se.max()


@pytest.mark.long
def test_the_moments_of_a_task_are_the_prior_of_the_next():
    """Columns are uncorrelated, so that independent normals are the exact posterior."""
    batch, design, y = regression()
    x = 5 * np.linalg.qr(design[:, :2] - design[:, :2].mean(0))[0]
    batch = batch._replace(inputs=np.tile(x, (CHAINS, 1, 1)).astype(np.float32))
    design = np.column_stack([x, np.ones(ROWS)])
    mean, precision = posterior(np.vstack([design, design]), np.concatenate([y, y]))
    epsilon = 0.2 / precision.max()
    learner, _ = built(learning_rate=rate(epsilon), epochs=2 * 8 * DRAWS)
    state = learner.init(KEY)
    for _ in range(2):
        state, _ = learner.observe(state, batch, KEY)
    order = np.argsort(np.diag(precision))
    first = np.diag(posterior(design, y)[1])[order]
    # The second task has a narrow prior and hence smaller steps.
    steps = epsilon * (ROWS + 1) / (ROWS + first)
    _, variance, mean_se, variance_se = of_chains(precision, steps, 8)
    # The first task's moments have twice the variance and half of the weight in the second.
    error = np.abs(state["mean"].mean((0, 1)) - mean)[order]
    assert (error < 4 * np.sqrt(1.5) * mean_se).all()
    error = np.abs((state["sd"] ** 2).mean((0, 1))[order] - variance)
    assert (error < 4 * np.sqrt(2) * variance_se).all()
    assert (1 / first - variance > 4 * variance_se).all()


@pytest.mark.long
def test_rates_fall_to_the_last_share_and_weigh_the_draws():
    batch, _, _ = regression()
    learner, _ = built(**FALLING)
    state, info = learner.observe(learner.init(KEY), batch, KEY)
    # The rate decays from 1 to 1/4 over 7 steps: 1 / (1 + 3 t / 7); draws after steps 4 to 7.
    rates = 1 / (1 + 3 * np.arange(4, 8) / 7)
    weights = rates / rates.sum()
    np.testing.assert_allclose(np.exp(state["log_weights"][:, 0]), [weights] * CHAINS, rtol=1e-5)
    np.testing.assert_allclose(info["effective_draws"], 1 / (weights**2).sum(), rtol=1e-5)
    draws = state["draws"][:, 0].astype(float)
    mean = np.einsum("k,skp->sp", weights, draws)
    squares = np.einsum("k,skp->sp", weights, (draws - mean[:, None]) ** 2)
    np.testing.assert_allclose(state["mean"][:, 0], mean, atol=1e-6)
    unbiased = squares / (1 - (weights**2).sum())
    np.testing.assert_allclose(state["sd"][:, 0] ** 2, unbiased, rtol=1e-3)


@pytest.mark.long
def test_a_chain_starts_at_glorots_weights_or_at_the_last_draw():
    batch, _, _ = regression()
    still = {"learning_rate": 1e-12, "epochs": 2, "draws": 2}
    learner, model = built(**still)
    begin = learner.init(KEY)
    one, _ = learner.observe(begin, batch, KEY)
    np.testing.assert_allclose(one["draws"][:, :, 0], glorot(model, KEY), atol=1e-5)
    moved = one | {"draws": one["draws"] + 1, "mean": one["mean"] + 1, "sd": begin["sd"]}
    two, _ = learner.observe(moved, batch, KEY)
    np.testing.assert_allclose(two["draws"][:, :, 0], moved["draws"][:, :, -1], atol=1e-4)
    fresh, _ = built(**still, start="fresh")[0].observe(moved, batch, KEY)
    np.testing.assert_allclose(fresh["draws"][:, :, 0], glorot(model, KEY), atol=1e-4)


@pytest.mark.long
def test_draws_as_the_prior_are_weighed_by_their_likelihoods_and_never_move():
    batch, design, y = regression()
    learner, _ = built(prior="draws", draws=5, epochs=10, learning_rate=0.01)
    one, _ = learner.observe(learner.init(KEY), batch, KEY)
    two, info = learner.observe(one, batch, KEY)
    np.testing.assert_array_equal(two["draws"], one["draws"])
    residual = y - one["draws"][:, 0].astype(float) @ design.T
    log_lik = -0.5 * (residual**2 / NOISE**2 + np.log(2 * np.pi * NOISE**2)).sum(-1)
    joint = one["log_weights"][:, 0] + log_lik
    np.testing.assert_allclose(info["log_evidence"][:, 0], logsumexp(joint, axis=1), rtol=1e-5)
    np.testing.assert_allclose(two["log_weights"][:, 0], log_softmax(joint, axis=1), atol=2e-4)
    assert learner.broaden is None
    predicted = learner.predict(two, batch.inputs, KEY)
    mean = np.einsum("sk,skn->sn", np.exp(two["log_weights"][:, 0]), y - residual)
    np.testing.assert_allclose(predicted.mean[:, 0, :, 0], mean, atol=1e-4)
    # A repetition that starts over runs a chain beside those that continue.
    begun = learner.init(KEY)
    mixed = {name: np.concatenate([begun[name][:5], one[name][5:]]) for name in one}
    after, _ = learner.observe(mixed, batch, KEY)
    for name in one:
        np.testing.assert_array_equal(after[name][:5], one[name][:5])
        np.testing.assert_array_equal(after[name][5:], two[name][5:])


def test_broadened_draws_have_the_broadened_moments():
    batch, _, _ = regression()
    learner, _ = built(**FALLING)
    state, _ = learner.observe(learner.init(KEY), batch, KEY)
    wide = learner.broaden(state, Broadening("geometric", beta=0.5))
    precision = 0.5 / state["sd"].astype(float) ** 2 + 0.5
    np.testing.assert_allclose(wide["sd"] ** 2, 1 / precision, rtol=1e-5)
    moments = sgld.weighted_moments(wide["draws"], wide["log_weights"])
    np.testing.assert_allclose(moments.mean, wide["mean"], atol=1e-5)
    np.testing.assert_allclose(moments.sd, wide["sd"], rtol=1e-3)


@pytest.mark.long
def test_other_heads_stay_as_they_are():
    learner, _ = built(heads=2, draws=3, epochs=5)
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(CHAINS, ROWS, 3)).astype(np.float32)
    inputs[..., -1] = 1
    batch = Batch(inputs, rng.integers(2, 4, (CHAINS, ROWS)), np.ones((CHAINS, ROWS), bool))
    begin = learner.init(KEY)
    after, _ = learner.observe(begin, batch, KEY)
    owner = np.tile([0, 0, 1, 1], 3)
    for name in ("mean", "sd", "draws"):
        np.testing.assert_array_equal(after[name][..., owner == 0], begin[name][..., owner == 0])
        assert (after[name] != begin[name])[..., owner == 1].all()


@pytest.mark.long
def test_a_repetition_with_fewer_rows_or_none_does_as_alone():
    batch, _, _ = regression()
    learner, _ = built(batch_size=8, draws=4, epochs=3, last_rate_share=0.5)
    mask = batch.mask.copy()
    mask[1, 10:], mask[2] = False, False
    begin = learner.init(KEY)
    after, info = learner.observe(begin, batch._replace(mask=mask), KEY)
    assert (info["steps"][:3, 0] == [15, 6, 0]).all()
    some = Batch(*(np.concatenate([a[1:2], a[1:]]) for a in batch._replace(mask=mask)))
    others = {name: np.concatenate([a[1:2], a[1:]]) for name, a in begin.items()}
    again, _ = learner.observe(others, some, np.concatenate([KEY[1:2], KEY[1:]]))
    for name in begin:
        np.testing.assert_array_equal(after[name][1], again[name][1])
        np.testing.assert_array_equal(after[name][2], begin[name][2])
        assert np.isfinite(after[name]).all()


@pytest.mark.parametrize("where", ["inputs", "targets"])
def test_a_seed_that_diverges_harms_no_other(where):
    learner, _ = built(epochs=2, batch_size=4, draws=2)
    side_by_side.fails_alone(learner, where, 2)

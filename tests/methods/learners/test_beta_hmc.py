"""Draws of the exact beta posterior against numerical integration."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.config import components
from shiftbench.core import seeds
from shiftbench.core.interface import Batch, LearnerError, Problem
from shiftbench.methods.learners import beta_hmc
from shiftbench.methods.posteriors import beta_exact

log_predictive = components.load_metric("log_predictive")

BETA, PRIOR = 0.4, beta_exact.Prior(2.0, 1.5, 0.3, 4.0)
CAPACITY = 30
KEYS = seeds.block([0, 1], "beta-hmc")


def problem(d: int, p: int) -> Problem:
    return Problem("regression", (1, d, p), d, CAPACITY // 2, 2)


def learner_of(d: int = 1, p: int = 1, **fields):
    hmc_settings = beta_hmc.Settings(
        a0=PRIOR.a, b0=PRIOR.b, prior_mean=PRIOR.mean, prior_variance=PRIOR.variance,
        beta_p=BETA, **fields,
    )  # fmt: skip
    return beta_hmc.build(hmc_settings, problem(d, p))


@pytest.fixture(scope="module")
def level():
    """Return a learner of a level, compiled once for all tests."""
    return learner_of(draws=40_000)


def batch(n: int, seed: int, outliers: int = 0) -> Batch:
    """Return rows around 1 with some outliers, equal in two repetitions."""
    random = np.random.default_rng(seed)
    y = 1 + random.normal(size=(1, n, 1))
    y[:, :outliers] += 12
    return Batch(np.ones((2, n, 1, 1, 1)), np.tile(y, (2, 1, 1)), np.ones((2, n), bool))


def grid_posterior(y: np.ndarray):
    """Return mu, s2 and probabilities of the exact posterior of a level, on a grid."""
    log_s2, mu = np.meshgrid(np.linspace(-3, 4, 500), np.linspace(-3, 6, 500), indexing="ij")
    s2 = np.exp(log_s2).ravel()
    design = np.ones((len(y), 1, 1))
    log_density = beta_exact.log_density(PRIOR, BETA, design, y, s2, mu.reshape(-1, 1))
    weight = np.exp(log_density + log_s2.ravel() - log_density.max())
    return mu.ravel(), s2, weight / weight.sum()


@pytest.mark.long
def test_draws_agree_with_a_grid_in_one_dimension(level):
    first, second = batch(12, 0, outliers=2), batch(8, 1)
    state, _ = level.observe(level.init(KEYS), first, seeds.fold_each(KEYS, 0))
    _, info = level.observe(state, second, seeds.fold_each(KEYS, 1))
    mu, s2, weight = grid_posterior(np.concatenate([first.targets[0], second.targets[0]]))
    assert info["draws"].shape == (2, 1, 40_000, 2)
    for draws in info["draws"][:, 0]:
        # Four standard errors of about 20,000 effective draws.
        for values, exact in ((draws[:, 1], mu), (np.log(draws[:, 0]), np.log(s2))):
            mean = weight @ exact
            sd = np.sqrt(weight @ (exact - mean) ** 2)
            assert values.mean() == pytest.approx(mean, abs=0.03 * sd)
            assert values.std() == pytest.approx(sd, rel=0.03)
            for share in (0.05, 0.5, 0.95):
                below = weight[exact < np.quantile(values, share)].sum()
                assert below == pytest.approx(share, abs=0.01)
    assert (info["r_hat"] < 1.01).all() and (info["accepted"] > 0.8).all()
    # Repetitions have different draws.
    assert not np.array_equal(info["draws"][0], info["draws"][1])


@pytest.mark.long
def test_predicts_the_integral_over_the_posterior(level):
    rows = batch(12, 0, outliers=2)
    state, _ = level.observe(level.init(KEYS), rows, seeds.fold_each(KEYS, 0))
    test = batch(5, 2)
    score = log_predictive.score(level.predict(state, test.inputs, KEYS), test)
    mu, s2, weight = grid_posterior(rows.targets[0])
    y = test.targets[0, :, 0, None]
    density = np.exp(-0.5 * (y - mu) ** 2 / s2) / np.sqrt(2 * np.pi * s2)
    np.testing.assert_allclose(score, np.log(density @ weight).mean(), atol=0.01)


def test_before_any_row_the_mean_is_that_of_the_prior(level):
    predictive = level.predict(level.init(KEYS), batch(3, 0).inputs, KEYS)
    mean = (np.exp(predictive.log_weights)[..., None, None] * predictive.mean).sum(axis=1)
    np.testing.assert_allclose(mean, PRIOR.mean, atol=1e-9)


def test_masked_rows_are_not_there(level):
    rows = batch(12, 0)
    mask = rows.mask.copy()
    mask[:, 5:] = False
    targets = np.where(mask[..., None], rows.targets, np.nan)
    first, _ = level.observe(level.init(KEYS), Batch(rows.inputs, targets, mask), KEYS)
    few = Batch(*(array[:, :5] for array in rows))
    second, _ = level.observe(level.init(KEYS), few, KEYS)
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])
    same, _ = level.observe(second, few._replace(mask=np.zeros((2, 5), bool)), KEYS)
    np.testing.assert_array_equal(same["draws"], second["draws"])


@pytest.mark.long
def test_several_targets_and_regressors_have_the_weighted_mean():
    """With d = 2 and p = 3, importance weighting of the approximation gives the same means."""
    learner = learner_of(2, 3, draws=20_000)
    random = np.random.default_rng(3)
    x = random.normal(size=(2, CAPACITY // 2, 1, 2, 3))
    y = x[:, :, 0] @ np.array([0.5, -1.0, 2.0]) + random.normal(size=(2, CAPACITY // 2, 2))
    rows = Batch(x, y, np.ones(y.shape[:2], bool))
    _, info = learner.observe(learner.init(KEYS), rows, KEYS)
    fit = beta_exact.Approximation.unpacked(info["fit"][0, 0])
    s2, mu = fit.draw(40_000, random)
    log_weight = beta_exact.log_density(PRIOR, BETA, x[0, :, 0], y[0], s2, mu)
    log_weight -= fit.log_density(s2, mu)
    weight = np.exp(log_weight - log_weight.max())
    assert weight.sum() ** 2 / (weight**2).sum() > 5000
    parameters = np.concatenate([np.log(s2)[:, None], mu], axis=1)
    mean = weight @ parameters / weight.sum()
    draws = info["draws"][0, 0]
    draws = np.concatenate([np.log(draws[:, :1]), draws[:, 1:]], axis=1)
    assert (np.abs(draws.mean(axis=0) - mean) < 0.06 * draws.std(axis=0)).all()


@pytest.mark.parametrize(
    ("kind", "shape"), [("regression", (2,)), ("regression", (3, 1, 1)), ("classification", (4,))]
)
def test_other_streams_are_refused(kind, shape):
    with pytest.raises(LearnerError, match="needs real targets and one design"):
        beta_hmc.build(beta_hmc.Settings(), Problem(kind, shape, 1, 5, 2))


def test_bad_values_are_named(level):
    rows = batch(4, 0)
    rows.targets[1, 2] = np.inf
    with pytest.raises(LearnerError, match="target 0 of row 2 of repetition 1 is inf"):
        level.observe(level.init(KEYS), rows, KEYS)
    with pytest.raises(LearnerError, match="promised 1"):
        level.observe(level.init(KEYS), batch(4, 0)._replace(targets=np.zeros((2, 4, 3))), KEYS)

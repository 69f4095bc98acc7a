"""Standard and robust linear regression: exact posteriors, the ELBO, and invalid input."""

from __future__ import annotations

import math

import numpy as np
import pytest

import shiftbench as sb
from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Broadening, LearnerError, Problem
from shiftbench.methods.combinators import beam, run_length
from shiftbench.methods.learners import bayes_linear
from shiftbench.methods.posteriors import beta_posterior

SHAPES = [(1, 1), (5, 6)]


def data(d, p, n=12, s=2, seed=0):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(s, n, 1, d, p)), rng.normal(size=(s, n, d))
    return Batch(x, y, np.ones((s, n), bool))


def fit_to(d, p, batch, **settings):
    learner = bayes_linear.build(
        bayes_linear.Settings(**settings), Problem("regression", (1, d, p), d, 1, 9)
    )
    key = seeds.block(range(len(batch.mask)), "linear")
    state, info = learner.observe(learner.init(key), batch, key)
    return learner, state, info


def squared(root):
    return root @ np.swapaxes(root, -1, -2)


@pytest.mark.parametrize(("d", "p"), SHAPES)
def test_rows_one_by_one_give_the_posterior_of_all(d, p):
    batch = data(d, p)
    _, state, _ = fit_to(d, p, batch, a0=2.0, b0=3.0, prior_mean=0.5, prior_variance=4.0)
    x, y = batch.inputs[0, :, 0].reshape(-1, p), batch.targets[0].ravel()
    precision = np.eye(p) / 4 + x.T @ x
    mean = np.linalg.solve(precision, np.full(p, 0.5) / 4 + x.T @ y)
    rest = y @ y + p * 0.25 / 4 - mean @ precision @ mean
    np.testing.assert_allclose(state["mean"][0, 0], mean, atol=1e-10)
    np.testing.assert_allclose(squared(state["root"][0, 0]), np.linalg.inv(precision), atol=1e-10)
    assert state["a"][0, 0] == 2 + len(y) / 2
    assert state["b"][0, 0] == pytest.approx(3 + rest / 2)


@pytest.mark.parametrize("beta_p", [0.0, 0.2])
def test_features_are_a_design_with_an_intercept_at_the_end(beta_p):
    rng, key = np.random.default_rng(3), seeds.block(range(2), "linear")
    x, y = rng.normal(size=(2, 9, 3)), rng.normal(size=(2, 9, 1))
    design = np.concatenate([x, np.ones((2, 9, 1))], axis=2)[:, :, None, None]
    settings, results = bayes_linear.Settings(beta_p=beta_p), []
    for shape, inputs in (((3,), x), ((1, 1, 4), design)):
        learner = bayes_linear.build(settings, Problem("regression", shape, 1, 9, 1))
        batch = Batch(inputs, y, np.ones((2, 9), bool))
        state, info = learner.observe(learner.init(key), batch, key)
        predicted = learner.predict(state, inputs, key)
        results.append([*state.values(), info["log_evidence"], *predicted])
    for of_features, of_design in zip(*results, strict=True):
        np.testing.assert_array_equal(of_features, of_design)


def test_a_robust_fit_learns_from_more_targets_than_its_working_array_needs():
    design, level = np.ones((40, 5, 1)), 3 + 0.1 * np.random.default_rng(0).normal(size=(40, 5))
    m = sb.method([{"bayes-linear": {"beta_p": 0.05}}])
    m.learn_many(design, level)
    np.testing.assert_allclose(m.predict_one(design[0]).mean, 3, atol=0.1)


@pytest.mark.parametrize(("d", "p"), SHAPES)
def test_a_small_beta_is_the_standard_posterior(d, p):
    batch = data(d, p)
    _, exact, _ = fit_to(d, p, batch, a0=3.0)
    _, state, _ = fit_to(d, p, batch, a0=3.0, beta_p=1e-4, tolerance=1e-6)
    fit, p = state["fit"], state["mean"].shape[-1]
    a, b, mean, root = fit[..., 0], fit[..., 1], fit[..., 2 : 2 + p], fit[..., 2 + p :]
    root = root.reshape(*a.shape, p, p)
    np.testing.assert_allclose(mean, exact["mean"], atol=5e-3)
    np.testing.assert_allclose(b / a, exact["b"] / exact["a"], rtol=1e-2)
    np.testing.assert_allclose(squared(root), squared(exact["root"]), atol=5e-3)


def random_fit(d, p, rng):
    """Return a random q, a random prior and its Sigma0."""

    def spd():
        root = rng.normal(size=(p, p))
        return root @ root.T + np.eye(p)

    sigma0 = spd()
    log_det = [np.linalg.slogdet(sigma0)[1]]
    prior = np.concatenate([[2.0, 3.0], rng.normal(size=p), np.linalg.inv(sigma0).ravel(), log_det])
    lower = np.linalg.cholesky(spd() / 5)
    return np.concatenate([[4.0, 5.0], rng.normal(size=p), lower.ravel()]), prior, sigma0


@pytest.mark.parametrize(("d", "p"), [*SHAPES, (2, 3)])
def test_the_gradient_of_the_elbo_equals_differences(d, p):
    rng = np.random.default_rng(1)
    q, prior, _ = random_fit(d, p, rng)
    x, y = rng.normal(size=(20, d, p)), rng.normal(size=(20, d))
    z, work = 0.1 * rng.normal(size=q.size), np.empty(beta_posterior.work_size(d, p))
    z[2 + p :].reshape(p, p)[np.triu_indices(p, 1)] = 0
    there, gradient, of_z = (np.empty_like(q) for _ in range(3))

    def value(at):
        beta_posterior.place(at, q, p, there)
        return beta_posterior.elbo(there, prior, 0.3, x, y, gradient, work)

    value(z)
    beta_posterior.pull(z, q, p, there, gradient, of_z)
    of_z = of_z.copy()
    for j, step in enumerate(1e-6 * np.eye(q.size)):
        assert of_z[j] == pytest.approx((value(z + step) - value(z - step)) / 2e-6, abs=1e-6)


@pytest.mark.parametrize(("d", "p"), [*SHAPES, (2, 3)])
def test_the_elbo_equals_sampling(d, p):
    rng, beta, n = np.random.default_rng(2), 0.3, 100_000
    q, prior, sigma0 = random_fit(d, p, rng)
    x, y = rng.normal(size=(15, d, p)), rng.normal(size=(15, d))
    lower = q[2 + p :].reshape(p, p)
    s2 = q[1] / rng.gamma(q[0], size=n)
    mu = q[2 : 2 + p] + np.sqrt(s2)[:, None] * (rng.normal(size=(n, p)) @ lower.T)

    def log_nig(a, b, mean, sigma):
        e = np.linalg.solve(np.linalg.cholesky(sigma), (mu - mean).T)
        log_normal = -0.5 * ((e**2).sum(axis=0) / s2 + p * np.log(2 * np.pi * s2))
        log_gamma = a * math.log(b) - math.lgamma(a) - (a + 1) * np.log(s2) - b / s2
        return log_normal - 0.5 * np.linalg.slogdet(sigma)[1] + log_gamma

    total = log_nig(2.0, 3.0, prior[2 : 2 + p], sigma0)
    total = total - log_nig(q[0], q[1], q[2 : 2 + p], lower @ lower.T)
    for xi, yi in zip(x, y, strict=True):
        squared = ((yi - mu @ xi.T) ** 2).sum(axis=1)
        f = np.exp(beta * (-0.5 * d * np.log(2 * np.pi * s2) - 0.5 * squared / s2))
        integral = (2 * np.pi * s2) ** (-0.5 * d * beta) * (1 + beta) ** (-0.5 * d)
        total = total + f / beta - integral / (1 + beta)
    work = np.empty(beta_posterior.work_size(d, p))
    exact = beta_posterior.elbo(q, prior, beta, x, y, np.empty_like(q), work)
    assert abs(total.mean() - exact) < 4.5 * total.std() / math.sqrt(n)


def test_an_outlier_leaves_the_robust_mean_where_it_is():
    batch = data(1, 1, n=60, s=1)
    batch.inputs[:] = 1.0
    clean = fit_to(1, 1, batch, beta_p=0.3)[1]
    batch.targets[0, 40] = 100.0
    robust = fit_to(1, 1, batch, beta_p=0.3)[1]
    standard = fit_to(1, 1, batch)[1]
    moved = abs(robust["fit"][0, 0, 2] - clean["fit"][0, 0, 2])
    assert moved < 0.05 and abs(standard["mean"][0, 0, 0]) > 1


@pytest.mark.parametrize("size", [10.0, 1e3, 1e6, 1e12])
def test_no_outlier_forces_a_changepoint_where_the_condition_holds(size):
    """At these settings sup f0^beta / beta + I / (1 + beta) < log((1 - h) / h)."""
    shape = Problem("regression", (1, 1, 1), 1, 1, 50)
    inner = bayes_linear.build(bayes_linear.Settings(a0=2.0, b0=8.0, beta_rlm=0.5), shape)
    learner = run_length.build(run_length.Settings(hazard=0.01), shape, inner)
    y = np.random.default_rng(0).normal(size=(1, 41, 1))
    y[0, 40] = size
    batch = Batch(np.ones((1, 41, 1, 1, 1)), y, np.ones((1, 41), bool))
    key = seeds.block(range(1), "outlier")
    _, info = learner.observe(learner.init(key), batch, key)
    assert info["run_length"][0, 0] == 40 and np.isfinite(info["log_weight"][0, 0])


@pytest.mark.parametrize("beta_p", [0.0, 0.1])
@pytest.mark.parametrize("value", [0.0, 7.0, 1e12])
def test_constant_and_huge_series_stay_finite(value, beta_p):
    batch = data(1, 1, n=40, s=1)
    batch.inputs[:] = 1.0
    batch.targets[:] = value
    for n in (1, 40):
        _, state, info = fit_to(1, 1, Batch(*(a[:, :n] for a in batch)), beta_p=beta_p)
        assert all(np.isfinite(a).all() for a in state.values())
        assert np.isfinite(info["log_evidence"]).all()


def test_bad_input_is_named():
    batch = data(1, 1)
    batch.targets[1, 3] = np.nan
    with pytest.raises(LearnerError, match="target 0 of row 3 of repetition 1 is nan"):
        fit_to(1, 1, batch)
    batch.mask[1, 3] = False
    assert np.isfinite(fit_to(1, 1, batch)[1]["b"]).all()
    with pytest.raises(LearnerError, match="stream promised 2"):
        fit_to(2, 1, data(1, 1))
    with pytest.raises(LearnerError, match="needs real targets and a design"):
        bayes_linear.build(bayes_linear.Settings(), Problem("regression", (3,), 2, 1, 5))


def test_a_beam_over_it_weighs_histories_as_brute_force_does():
    """Two tasks of several rows, with or without a shift before the second."""
    problem, key = Problem("regression", (1, 1, 2), 1, 4, 2), seeds.block([0], "linear")
    prior = {"a0": 2.0, "b0": 1.5, "prior_variance": 3.0}
    inner = bayes_linear.build(bayes_linear.Settings(**prior), problem)
    how = Broadening("geometric", beta=0.4)
    beam_settings = beam.Settings(size=2, weights="bayes", broadening=how.kind, beta=how.beta)
    learner, tasks = (
        beam.build(beam_settings, problem, inner),
        [data(1, 2, 4, 1, seed) for seed in (1, 2)],
    )
    state = learner.init(key)
    for batch in tasks:
        state, info = learner.observe(learner.drift(state, key), batch, key)
    first, _ = inner.observe(inner.init(key), tasks[0], key)
    evidence = [
        inner.observe(start, tasks[1], key)[1]["log_evidence"][0, 0]
        for start in (first, inner.broaden(first, how))
    ]
    shift = info["shift"][0].astype(int)
    expected = np.array(evidence) - np.logaddexp(*evidence)
    np.testing.assert_allclose(info["log_weight"][0], expected[shift], atol=1e-12)


def test_a_beta_posterior_is_not_broadened():
    robust = bayes_linear.build(
        bayes_linear.Settings(beta_p=0.1), Problem("regression", (1, 1, 2), 1, 1, 9)
    )
    assert robust.broaden is None

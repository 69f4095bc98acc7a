"""Student's t errors against quadrature in one dimension, and against normal errors."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy import special, stats

from shiftbench.core.interface import Batch, LearnerError, Problem
from shiftbench.methods.learners import bayes_linear, student_t_linear
from shiftbench.methods.posteriors import beta_posterior, student_t_errors

PRIOR = {"a0": 2.0, "b0": 1.5, "prior_mean": 0.5, "prior_variance": 3.0}
DF = 4.0


def values(rows, seed, outlier=0.0):
    y = 1 + np.random.default_rng(seed).standard_t(DF, rows)
    y[rows // 2] += outlier
    return y


def learnt(y, x=None, **settings):
    """Return the learner, the state after values y with designs x (ones), and the log evidence."""
    x = np.ones((len(y), 1)) if x is None else x
    module = student_t_linear if "df" in settings else bayes_linear
    problem = Problem("regression", (1, 1, x.shape[1]), 1, 1, len(y))
    learner = module.build(module.Settings(**settings), problem)
    seeds = np.zeros((1, 2), int)
    batch = Batch(x[None, :, None, None], y[None, :, None], np.ones((1, len(y)), bool))
    state, info = learner.observe(learner.init(seeds), batch, seeds)
    return learner, state, float(info["log_evidence"][0, 0])


@cache
def exact(rows, seed, outlier):
    """Return moments of mu and log s2, and the log evidence, by sums over a grid."""
    y = values(rows, seed, outlier)
    log_s2, mu = np.linspace(-5, 7, 241)[:, None], np.linspace(-20, 20, 1601)[None]
    s2, p = np.exp(log_s2), PRIOR
    log_p = stats.invgamma.logpdf(s2, p["a0"], scale=p["b0"]) + log_s2
    log_p = log_p + stats.norm.logpdf(mu, p["prior_mean"], np.sqrt(s2 * p["prior_variance"]))
    constant = stats.t.logpdf(0, DF) - 0.5 * log_s2
    for one in y:
        log_p += constant - 0.5 * (DF + 1) * np.log1p((one - mu) ** 2 / (DF * s2))
    cell = (log_s2[1, 0] - log_s2[0, 0]) * (mu[0, 1] - mu[0, 0])
    weight = np.exp(log_p - log_p.max())
    evidence = math.log(weight.sum() * cell) + log_p.max()
    weight /= weight.sum()
    moments = []
    for axis in (mu, log_s2):
        mean = (weight * axis).sum()
        moments += [mean, math.sqrt((weight * (axis - mean) ** 2).sum())]
    return *moments, evidence


@pytest.mark.parametrize(("rows", "seed", "outlier"), [(6, 1, 0), (6, 2, 15), (40, 3, 15)])
def test_the_posterior_is_near_that_by_quadrature(rows, seed, outlier):
    """Means within .15 sd, widths within 12 %, evidence within .15 nats."""
    mean, sd, log_s2, sd_log, evidence = exact(rows, seed, outlier)
    _, state, found = learnt(values(rows, seed, outlier), df=DF, **PRIOR)
    a, b = state["a"][0, 0], state["b"][0, 0]
    assert state["mean"][0, 0, 0] == pytest.approx(mean, abs=0.15 * sd)
    assert state["root"][0, 0, 0, 0] * math.sqrt(b / (a - 1)) == pytest.approx(sd, rel=0.12)
    assert math.log(b) - special.psi(a) == pytest.approx(log_s2, abs=0.15 * sd_log)
    assert math.sqrt(special.polygamma(1, a)) == pytest.approx(sd_log, rel=0.12)
    assert found == pytest.approx(evidence, abs=0.15)


def test_normal_errors_are_far_from_it():
    """The previous test can fail: with an outlier, normal errors give another mean and width."""
    mean, sd, log_s2, sd_log, evidence = exact(40, 3, 15)
    _, state, found = learnt(values(40, 3, 15), **PRIOR)
    a, b = state["a"][0, 0], state["b"][0, 0]
    assert abs(state["mean"][0, 0, 0] - mean) > sd
    assert abs(math.log(b) - special.psi(a) - log_s2) > 2 * sd_log
    assert found < evidence - 10


def test_one_row_has_the_exact_evidence_and_moments():
    """Several regressors, against a fine sum over the weight, component by component."""
    rng = np.random.default_rng(0)
    x, y, p = rng.normal(size=(1, 3)), np.array([4.0]), PRIOR
    _, after, evidence = learnt(y, x, df=DF, **p)
    u = np.linspace(-60, 4, 40001)
    mass = stats.gamma.pdf(np.exp(u), DF / 2, scale=2 / DF) * np.exp(u)
    sigma, error = p["prior_variance"] * np.eye(3), y[0] - x[0].sum() * p["prior_mean"]
    s = np.exp(-u) + x[0] @ sigma @ x[0]
    density = stats.t.pdf(error, 2 * p["a0"], 0, np.sqrt(p["b0"] / p["a0"] * s))
    assert evidence == pytest.approx(np.log((mass * density).sum() * (u[1] - u[0])), abs=1e-6)
    q = mass * density / (mass * density).sum()
    gain, a, b = sigma @ x[0], p["a0"] + 0.5, p["b0"] + 0.5 * error**2 / s
    precision = (q * a / b).sum()
    means = p["prior_mean"] + gain[:, None] * error / s
    mean = (q * a / b * means).sum(axis=1) / precision
    second = sigma - np.outer(gain, gain) * (q / s).sum() + (q * a / b * means) @ means.T
    root = after["root"][0, 0]
    assert after["mean"][0, 0] == pytest.approx(mean, rel=1e-6)
    assert root @ root.T == pytest.approx(second - precision * np.outer(mean, mean), rel=1e-6)
    found_a, found_b = after["a"][0, 0], after["b"][0, 0]
    assert found_a / found_b == pytest.approx(precision, rel=1e-6)
    log_s2 = (q * np.log(b)).sum() - special.psi(a)
    assert math.log(found_b) - special.psi(found_a) == pytest.approx(log_s2, abs=1e-6)
    assert np.array_equal(root, np.tril(root))


@pytest.mark.parametrize("df", [1.0, 4.0, 100.0])
@pytest.mark.parametrize(("a", "r"), [(0.7, 0.3), (30.0, 0.02), (400.0, 50.0)])
@pytest.mark.parametrize("outlier", [0.0, 5.0, 1e3, 3e4, 1e6, 1e12, 1e40])
def test_an_outlier_of_any_size_is_learnt_exactly(df, a, r, outlier):
    """Against a fine sum over the weight; the mean is 0 and the scale 1 before the row."""
    nodes, scales = student_t_errors.nodes(df), np.array([a, a])
    mean, root, x = np.zeros(1), np.array([math.sqrt(r)]), np.ones(1)
    work = np.empty(3 + len(nodes))
    evidence = student_t_errors.learn(x, outlier, scales, mean, root, nodes, work)
    u = np.linspace(-2 * math.log1p(outlier) - 80, 6, 20_001)
    s, half = np.exp(-u) + r, df / 2
    log_q = half * (math.log(half) + u - np.exp(u)) - special.gammaln(half)
    log_q += stats.t.logpdf(outlier / np.sqrt(s), 2 * a) - np.log(s) / 2
    total = special.logsumexp(log_q) + math.log(u[1] - u[0])
    assert evidence == pytest.approx(total, abs=1e-5)
    q = np.exp(log_q - special.logsumexp(log_q))
    b = a + 0.5 * outlier**2 / s
    precision = (q * (a + 0.5) / b).sum()
    assert scales[0] / scales[1] == pytest.approx(precision, rel=1e-5)
    found = math.log(scales[1]) - special.psi(scales[0])
    assert found == pytest.approx((q * np.log(b)).sum() - special.psi(a + 0.5), abs=1e-5)
    moved = (q * (a + 0.5) / b * outlier * r / s).sum() / precision
    assert mean[0] == pytest.approx(moved, rel=1e-4, abs=1e-12)


def test_an_ambiguous_row_widens_the_mean():
    """If it is unclear whether the row is an outlier, the covariance grows along the gain."""
    p = {"a0": 50.0, "b0": 50.0, "prior_mean": 0.0, "prior_variance": 0.5}
    _, state, _ = learnt(np.array([6.0]), df=1.0, **p)
    assert state["root"][0, 0, 0, 0] ** 2 > 0.5


def test_many_degrees_of_freedom_tend_to_normal_errors():
    x, y = np.random.default_rng(1).normal(size=(30, 2)), values(30, 5)
    _, normal, of_normal = learnt(y, x, **PRIOR)
    gaps = []
    for df in (25.0, 100.0):
        _, state, evidence = learnt(y, x, df=df, **PRIOR)
        gaps.append([abs(state[k] - normal[k]).max() for k in ("mean", "root")])
        gaps[-1].append(abs(evidence - of_normal))
    assert (np.array(gaps[1]) < 0.4 * np.array(gaps[0])).all()
    assert max(gaps[1]) < 0.35


@pytest.mark.parametrize(("a", "r"), [(1.0, 0.01), (3.0, 1.0), (30.0, 0.05)])
def test_a_forecast_is_near_the_density_by_quadrature(a, r):
    """KL(density, forecast) is below .005 nats; the forecast of a wide prior is exact."""
    nodes = student_t_errors.nodes(DF)
    inverse, mass, _ = nodes.reshape(3, -1)
    e = np.concatenate([[0], np.geomspace(1e-3, 1e5, 4000)])
    density = (mass * stats.t.pdf(e[:, None], 2 * a, 0, np.sqrt(inverse + r))).sum(axis=1)
    wide, b = student_t_errors.forecast(a, a, r, nodes)
    forecast = stats.t.pdf(e, 2 * wide, 0, math.sqrt(b / wide))
    assert 0 <= 2 * np.trapezoid(density * np.log(density / forecast), e) < 0.005
    wide, b = student_t_errors.forecast(a, a, 1e9, nodes)
    assert (2 * wide, b / wide) == (pytest.approx(2 * a), pytest.approx(1e9))


def test_nodes_have_the_moments_of_the_weight():
    for df in (1.0, 4.0, 100.0):
        inverse, mass, log_mass = student_t_errors.nodes(df).reshape(3, -1)
        assert mass.sum() == pytest.approx(1)
        assert mass == pytest.approx(np.exp(log_mass), rel=1e-12, abs=1e-300)
        assert (mass / inverse).sum() == pytest.approx(1, abs=1e-5)
        log_mean = special.psi(df / 2) - math.log(df / 2)
        assert -(mass * np.log(inverse)).sum() == pytest.approx(log_mean, abs=1e-5)


def test_the_shape_solves_its_equation():
    for a in (1e-2, 0.3, 1.0, 7.0, 1e4):
        gap = math.log(a) - beta_posterior.digamma(a)
        assert student_t_errors.shape(gap) == pytest.approx(a, rel=1e-7)


def test_several_targets_are_refused():
    problem = Problem("regression", (1, 2, 1), 2, 1, 1)
    with pytest.raises(LearnerError, match="one target a row, but the stream has 2"):
        student_t_linear.build(student_t_linear.Settings(), problem)

"""The normal-inverse-Wishart learner against quadrature, closed forms and the case d = 1."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import multigammaln

from shiftbench.contract.problems import key
from shiftbench.core.interface import Batch, Broadening, LearnerError, Problem
from shiftbench.evaluation.metrics.regression import log_density
from shiftbench.methods.learners import bayes_linear, normal_inverse_wishart
from shiftbench.methods.learners.normal_inverse_wishart import Settings

SETTINGS = Settings(prior_mean=0.3, mean_rows=0.7, prior_df=3.0, prior_variance=0.5)


def learner(d: int, settings: Settings = SETTINGS):
    return normal_inverse_wishart.build(settings, Problem("regression", (0,), d, 1, 9))


def batch(rows: np.ndarray) -> Batch:
    """Return a batch with the rows [n, d] in two repetitions."""
    targets = np.tile(rows, (2, 1, 1))
    return Batch(np.zeros((*targets.shape[:2], 0)), targets, np.ones(targets.shape[:2], bool))


def values(d: int, n: int = 8) -> np.ndarray:
    random = np.random.default_rng(d)
    return random.normal(size=(n, d)) @ random.normal(size=(d, d)) + 1


def after(d: int, rows: np.ndarray, settings: Settings = SETTINGS):
    one = learner(d, settings)
    return one.observe(one.init(key("init")), batch(rows), key("o"))


def log_constant(kappa: float, nu: float, psi: np.ndarray) -> float:
    """Return the log integral of the unnormalised density, without powers of 2 pi."""
    d = len(psi)
    half = -nu / 2 * np.linalg.slogdet(psi)[1] + nu * d / 2 * np.log(2)
    return half + multigammaln(nu / 2, d) - d / 2 * np.log(kappa)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_evidence_is_the_ratio_of_normalising_constants(d):
    """Murphy 2007, Eq. 266, computed from all rows at once."""
    rows, (kappa, nu, m) = values(d), (0.7, 3.0 + d - 1, 0.3)
    n, mean = len(rows), rows.mean(axis=0)
    psi = 1.5 * np.eye(d)
    spread = (rows - mean).T @ (rows - mean)
    spread += kappa * n / (kappa + n) * np.outer(mean - m, mean - m)
    golden = log_constant(kappa + n, nu + n, psi + spread) - log_constant(kappa, nu, psi)
    state, info = after(d, rows)
    assert info["log_evidence"] == pytest.approx(golden - n * d / 2 * np.log(2 * np.pi))
    found = state["root"] @ state["root"].swapaxes(-1, -2)
    np.testing.assert_allclose(found, np.tile(psi + spread, (2, 1, 1, 1)))
    np.testing.assert_allclose(state["mean"][0, 0], (kappa * m + n * mean) / (kappa + n))


@pytest.mark.long
def test_the_evidence_of_one_value_is_its_integral():
    rows = np.array([[0.4], [-1.0], [2.2]])

    def joint(mu: float, log_variance: float) -> float:
        variance = np.exp(log_variance)
        prior = stats.norm.pdf(mu, 0.3, np.sqrt(variance / 0.7))
        prior *= stats.invgamma.pdf(variance, 1.5, scale=0.75) * variance
        return prior * stats.norm.pdf(rows[:, 0], mu, np.sqrt(variance)).prod()

    golden, _ = integrate.dblquad(joint, -8, 8, -30, 30, epsabs=1e-9)
    assert after(1, rows)[1]["log_evidence"] == pytest.approx(np.log(golden), abs=1e-5)


def test_the_evidence_is_the_sum_of_log_predictions_in_any_order():
    rows, one = values(3), learner(3)
    state, total = one.init(key("init")), 0.0
    for row in rows:
        batch_of_row = batch(row[None])
        predicted = one.predict(state, batch_of_row.inputs, key("p"))
        total += log_density(predicted, batch_of_row)
        state, _ = one.observe(state, batch_of_row, key("o"))
    for ordered in (rows, rows[::-1]):
        assert after(3, ordered)[1]["log_evidence"][:, 0] == pytest.approx(total)


@pytest.mark.parametrize("kind", ["temper", "temper-prior", "geometric", "ou"])
def test_one_value_is_the_normal_inverse_gamma(kind):
    rows, problem = values(1), Problem("regression", (1, 1, 1), 1, 1, 9)
    other = bayes_linear.build(
        bayes_linear.Settings(a0=1.5, b0=0.75, prior_mean=0.3, prior_variance=1 / 0.7), problem
    )
    ones, how = np.ones((2, len(rows), 1, 1, 1)), Broadening(kind, beta=0.8)
    golden, info = other.observe(
        other.init(key("init")), batch(rows)._replace(inputs=ones), key("o")
    )
    state, found = after(1, rows)
    np.testing.assert_allclose(found["log_evidence"], info["log_evidence"])
    state, golden = learner(1).broaden(state, how), other.broaden(golden, how)
    np.testing.assert_allclose(state["nu"] / 2, golden["a"])
    np.testing.assert_allclose(state["root"][..., 0, 0] ** 2 / 2, golden["b"])
    np.testing.assert_allclose(1 / state["kappa"], golden["root"][..., 0, 0] ** 2)
    np.testing.assert_allclose(state["mean"], golden["mean"])


def log_kernel(state, mean: np.ndarray, covariance: np.ndarray) -> float:
    """Return the log density of a posterior up to its constant."""
    d, (kappa, nu) = len(mean), (state["kappa"][0, 0], state["nu"][0, 0])
    root, off = state["root"][0, 0], mean - state["mean"][0, 0]
    inverse = np.linalg.inv(covariance)
    log_det = np.linalg.slogdet(covariance)[1]
    trace = np.trace(root @ root.T @ inverse) + kappa * off @ inverse @ off
    return -((nu + d) / 2 + 1) * log_det - trace / 2


@pytest.mark.parametrize("kind", ["temper", "temper-prior", "geometric"])
def test_a_broadened_posterior_is_the_product_of_powers(kind):
    """The log densities differ by a constant."""
    one, how, random = learner(3), Broadening(kind, beta=0.6), np.random.default_rng(0)
    prior, (state, _) = one.init(key("init")), after(3, values(3))
    broad, differences = one.broaden(state, how), []
    for _ in range(5):
        root = random.normal(size=(3, 3))
        point = random.normal(size=3), root @ root.T + np.eye(3)
        product = 0.6 * log_kernel(state, *point) + how.prior_share * log_kernel(prior, *point)
        differences.append(log_kernel(broad, *point) - product)
    np.testing.assert_allclose(differences, differences[0], atol=1e-9)


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        (Broadening("diffuse", variance=1.0), "cannot be widened by `diffuse`"),
        (Broadening("temper", beta=0.3), "nu = 5 has no power 0.3 .* needs nu > 18.3"),
    ],
)
def test_what_leaves_the_family_is_refused_with_the_remedy(how, reason):
    one = learner(3)
    with pytest.raises(LearnerError, match=reason):
        one.broaden(one.init(key("init")), how)

"""Row-by-row updates of the normal-inverse-gamma against the posterior of all rows at once."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from shiftbench.core.interface import Broadening, LearnerError
from shiftbench.methods.posteriors import normal_inverse_gamma

SIZES = ((1, 1), (5, 6), (3, 1), (1, 4))


def data(d, p, rows=12):
    random = np.random.default_rng(10 * d + p)
    return random.normal(size=(rows, d, p)), random.normal(scale=2.0, size=(rows, d))


def row_learnt(x, y, scale, mean, root):
    """Update mean [p] and root [p, p] by a row x [d, p], y [d]; return the results of `learn`."""
    work = np.empty(2 * len(mean))
    return normal_inverse_gamma.learn(x.ravel(), y, scale, mean, root.reshape(-1), work)


def learnt(x, y, mean, covariance, a, b):
    """Return mean, covariance, a and b after the rows x [n, d, p], y [n, d]."""
    mean, root = mean.copy(), np.linalg.cholesky(covariance)
    d = x.shape[1]
    for design, target in zip(x, y, strict=True):
        quadratic = row_learnt(design, target, 1.0, mean, root)[1]
        a, b = a + d / 2, b + quadratic / 2
    return mean, root @ root.T, a, b


@pytest.mark.parametrize(("d", "p"), SIZES)
def test_a_prediction_is_scipys(d, p):
    x, y = data(d, p, 1)
    random = np.random.default_rng(3)
    mean, root = random.normal(size=p), np.tril(random.normal(size=(p, p)))
    a, b, spread = np.array(2.5), np.array(4.0), np.eye(d) + x[0] @ root @ root.T @ x[0].T
    predictive = normal_inverse_gamma.prediction(
        x[None, None, :1], *(array[None, None] for array in (a, b, mean, root))
    )
    residual, scale = y[0] - predictive.mean[0, 0, 0], predictive.scale[0, 0, 0]
    np.testing.assert_allclose(predictive.mean[0, 0, 0], x[0] @ mean)
    np.testing.assert_allclose(predictive.df, 5.0)
    log_det, quadratic = row_learnt(x[0], y[0], float(b / a), mean, root)
    assert log_det == pytest.approx(np.linalg.slogdet(scale)[1])
    assert quadratic == pytest.approx(residual @ np.linalg.solve(spread, residual))
    np.testing.assert_allclose(scale, b / a * spread)


@pytest.mark.parametrize(("d", "p"), SIZES)
def test_rows_in_turn_equal_all_rows_at_once(d, p):
    x, y = data(d, p)
    first, prior, a0, b0 = np.full(p, 0.3), 2.0 * np.eye(p), 1.5, 0.7
    mean, covariance, a, b = learnt(x, y, first, prior, a0, b0)
    stacked, flat = x.reshape(-1, p), y.ravel()
    precision = np.linalg.inv(prior) + stacked.T @ stacked
    expected = np.linalg.solve(precision, np.linalg.solve(prior, first) + stacked.T @ flat)
    np.testing.assert_allclose(covariance, np.linalg.inv(precision), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(mean, expected, rtol=1e-9, atol=1e-12)
    ends = flat @ flat + first @ np.linalg.solve(prior, first) - expected @ precision @ expected
    assert a == a0 + flat.size / 2 and b == pytest.approx(b0 + ends / 2)


def test_numbers_are_learnt_as_matrices_of_one_entry():
    x, y = data(1, 1, 20)
    mean, root = np.array([0.3]), np.array([1.4])
    for design, target in zip(x.ravel(), y.ravel(), strict=True):
        row = design, target, 1.7, mean[0], root[0]
        results = row_learnt(np.array([design]), np.array([target]), 1.7, mean, root)
        assert normal_inverse_gamma.learn_scalar(*row) == (mean[0], root[0], *results)


def test_the_order_of_rows_does_not_matter():
    x, y = data(3, 4)
    start = np.zeros(4), np.eye(4), 1.0, 1.0
    for one, other in zip(
        learnt(x, y, *start), learnt(x[::-1].copy(), y[::-1].copy(), *start), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-13)


def test_the_posterior_of_the_mean_is_a_t_by_quadrature():
    """With d = p = 1, the density of mu on a grid, integrated over s2 and normalised."""
    x, y = data(1, 1, 5)
    mean, covariance, a, b = learnt(x, y, np.array([0.5]), np.array([[2.0]]), 1.5, 0.7)
    mu, log_s2 = np.linspace(-8, 9, 801)[:, None], np.linspace(-4, 9, 801)
    s2 = np.exp(log_s2)
    log_joint = stats.norm.logpdf(mu, 0.5, np.sqrt(2.0 * s2))
    log_joint = log_joint + stats.invgamma.logpdf(s2, 1.5, scale=0.7) + log_s2
    for design, target in zip(x.ravel(), y.ravel(), strict=True):
        log_joint = log_joint + stats.norm.logpdf(target, design * mu, np.sqrt(s2))
    actual = np.exp(log_joint - log_joint.max()).sum(axis=1)
    expected = stats.t.pdf(mu[:, 0], 2 * a, mean[0], np.sqrt(b / a * covariance[0, 0]))
    np.testing.assert_allclose(
        actual / actual.sum(), expected / expected.sum(), rtol=1e-4, atol=1e-7
    )


@pytest.mark.parametrize("size", [1e6, 1e12])
@pytest.mark.parametrize("p", [1, 2])
def test_huge_regressors_leave_a_covariance(size, p):
    """A value of 1e12 is a regressor of the next row; rounding must not make variances negative."""
    x, y = data(1, p, 20)
    x *= size
    mean, covariance, _, b = learnt(x, y, np.zeros(p), np.eye(p), 1.0, 1.0)
    stacked = x.reshape(-1, p)
    assert np.isfinite(mean).all() and np.isfinite(b)
    assert (np.diag(covariance) > 0).all()
    inverse = np.linalg.inv((np.eye(p) + stacked.T @ stacked) / size**2) / size**2
    np.testing.assert_allclose(covariance, inverse, rtol=0.01)


def log_density(mu, s2, a, b, mean, root):
    """Return the log density of mu [..., p] and s2 [...] by SciPy."""
    of_mu = [
        stats.multivariate_normal(mean, v * root @ root.T).logpdf(m)
        for m, v in zip(mu, s2, strict=True)
    ]
    return stats.invgamma(a, scale=b).logpdf(s2) + np.array(of_mu)


POWERS = {"temper": 0.0, "temper-prior": 1.0, "geometric": 0.4}


@pytest.mark.parametrize("kind", POWERS)
@pytest.mark.parametrize("p", [1, 3])
def test_powers_are_members_of_the_family(kind, p):
    random = np.random.default_rng(p)
    mean, root = random.normal(size=p), np.tril(random.normal(size=(p, p))) + 2 * np.eye(p)
    q, prior = (np.array(6.0), np.array(3.0), mean, root), (1.5, 2.5, 0.4, 3.0)
    wide = normal_inverse_gamma.broaden(*q, Broadening(kind, beta=0.6), prior)
    mu, s2 = random.normal(size=(20, p)), random.gamma(2.0, size=20)
    p0 = (1.5, 2.5, np.full(p, 0.4), np.sqrt(3.0) * np.eye(p))
    power = 0.6 * log_density(mu, s2, *q) + POWERS[kind] * log_density(mu, s2, *p0)
    difference = power - log_density(mu, s2, *wide)
    np.testing.assert_allclose(difference, difference[0], rtol=1e-10)


@pytest.mark.parametrize("kind", POWERS)
def test_powers_have_the_moments_of_the_density_normalised_on_a_grid(kind):
    q = (np.array(6.0), np.array(3.0), np.array([0.7]), np.array([[0.8]]))
    a, b, mean, root = normal_inverse_gamma.broaden(
        *q, Broadening(kind, beta=0.6), (1.5, 2.5, 0.4, 3.0)
    )
    tau = np.linspace(1e-3, 30, 1500)  # precision, whose density has a factor of s2^2
    mu = np.linspace(-40, 40, 4001)
    log_q, log_p0 = (
        stats.norm(m, np.sqrt(v / tau[:, None])).logpdf(mu)
        + stats.invgamma(shape, scale=scale).logpdf(1 / tau)[:, None]
        for shape, scale, m, v in ((6.0, 3.0, 0.7, 0.64), (1.5, 2.5, 0.4, 3.0))
    )
    weight = np.exp(0.6 * log_q + POWERS[kind] * log_p0) / tau[:, None] ** 2
    weight /= weight.sum()
    assert mean[0] == pytest.approx((weight * mu).sum(), abs=1e-4)
    assert a / b == pytest.approx((weight * tau[:, None]).sum(), rel=1e-3)
    spread = (weight * tau[:, None] * (mu - mean[0]) ** 2).sum()
    assert root[0, 0] ** 2 == pytest.approx(spread, rel=1e-3)


def test_a_move_to_the_prior_is_that_of_the_coefficients_in_units_of_the_noise():
    random = np.random.default_rng(0)
    mean, root = random.normal(size=3), np.tril(random.normal(size=(3, 3))) + 2 * np.eye(3)
    q, prior = (np.array(6.0), np.array(3.0), mean, root), (1.5, 2.5, 0.4, 3.0)
    a, b, wide_mean, wide = normal_inverse_gamma.broaden(*q, Broadening("ou", 0.6), prior)
    assert (a, b) == (6.0, 3.0)
    np.testing.assert_allclose(wide_mean, 0.6 * mean + 0.4 * 0.4)
    np.testing.assert_allclose(wide @ wide.T, 0.36 * root @ root.T + 0.64 * 3 * np.eye(3))
    same = normal_inverse_gamma.broaden(*q, Broadening("ou", 1.0), prior)
    for one, other in zip(same, q, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_power_without_an_integral_is_refused_with_what_it_needs():
    q = (np.array([1.0, 9.0]), np.ones(2), np.zeros((2, 2)), np.tile(np.eye(2), (2, 1, 1)))
    prior = (1.0, 1.0, 0.0, 1.0)
    assert normal_inverse_gamma.broaden(*q, Broadening("geometric", 0.5), prior)[0][0] == 1.0
    with pytest.raises(LearnerError, match=r"a = 1 has no power 0.5 .* needs a > 2; set"):
        normal_inverse_gamma.broaden(*q, Broadening("temper", 0.5), prior)
    with pytest.raises(
        LearnerError, match="is not a multiple of the noise variance; set broadening"
    ):
        normal_inverse_gamma.broaden(*q, Broadening("diffuse", variance=1.0), prior)

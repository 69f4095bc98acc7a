"""Student's t scores against SciPy's density and quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import gamma, gammaln

from shiftbench.methods.posteriors import student_t

BETAS = (0.01, 0.15, 1.0)
DEGREES = (0.8, 2.0, 17.0)


def scale_of(d):
    root = np.random.default_rng(d).normal(size=(d, d))
    return root @ root.T + np.eye(d)


def integral(beta, df, d, log_det):
    """Return the integral of f^(1 + beta), in polar coordinates of the whitened space."""
    density = stats.multivariate_t(np.zeros(d), np.eye(d), df)

    def shell(radius):
        return radius ** (d - 1) * density.pdf(np.append(radius, np.zeros(d - 1))) ** (1 + beta)

    sphere = 2 * np.pi ** (d / 2) / gamma(d / 2)
    radial = sum(
        integrate.quad(shell, *ends, epsabs=0, epsrel=1e-11, limit=200)[0]
        for ends in ((0, 3), (3, 100), (100, np.inf))
    )
    return sphere * radial * np.exp(-0.5 * beta * log_det)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("df", DEGREES)
def test_the_log_density_is_scipys(d, df):
    scale = scale_of(d)
    for residual in np.random.default_rng(1).normal(scale=(0.1, 3.0, 1e6), size=(d, 3)).T:
        quadratic = residual @ np.linalg.solve(scale, residual)
        actual = student_t.log_density(df, d, np.linalg.slogdet(scale)[1], quadratic / df)
        expected = stats.multivariate_t(np.zeros(d), scale, df).logpdf(residual)
        assert actual == pytest.approx(expected, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3, 8, 29, 301, 600])
@pytest.mark.parametrize("df", [1e-6, 0.3, 1.0, 3.7, 19.9, 20.0, 20.1, 100.0, 2000.0])
def test_the_constant_is_that_of_log_gammas(d, df):
    expected = gammaln((df + d) / 2) - gammaln(df / 2) - d / 2 * np.log(df * np.pi)
    assert student_t.log_constant(df, d) == pytest.approx(expected, rel=1e-13, abs=1e-11)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_constant_tends_to_that_of_a_gaussian(d):
    """The error is d (d - 2) / (4 df); differences of log gammas of 1e12 would be off by 2e-4."""
    for df in (1e8, 1e12):
        gap = student_t.log_constant(df, d) + d / 2 * np.log(2 * np.pi)
        assert gap == pytest.approx(d * (d - 2) / (4 * df), abs=1e-14)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("df", DEGREES)
@pytest.mark.parametrize("beta", BETAS)
def test_the_integral_is_quadrature(d, df, beta):
    log_det = np.linalg.slogdet(scale_of(d))[1]
    actual = np.exp(student_t.log_integral(beta, df, d, log_det))
    assert actual == pytest.approx(integral(beta, df, d, log_det), rel=1e-8)


def test_the_integral_of_the_authors_code_falls_with_the_run_length():
    """Its log has nu p beta / 2 in place of p log(nu) beta / 2, which favours long runs in l."""
    beta, d, log_det = 0.15, 1, 0.0
    right, theirs = [], []
    for df in (20.0, 200.0):
        exact = student_t.log_integral(beta, df, d, log_det)
        assert np.exp(exact) == pytest.approx(integral(beta, df, d, log_det), rel=1e-8)
        gammas = exact + 0.5 * d * beta * (np.log(df) + np.log(np.pi)) + 0.5 * beta * log_det
        right.append(exact)
        theirs.append(gammas - 0.5 * d * beta * (df + np.pi) - beta * log_det)
    assert abs(right[1] - right[0]) < 0.01
    assert theirs[1] - theirs[0] < -0.5 * beta * 180 + 1


def test_the_integral_of_a_scale_matrix_in_the_plane():
    """Compare without the change of variables that the other test makes."""
    scale, df, beta = scale_of(2), 4.0, 0.3
    density = stats.multivariate_t(np.zeros(2), scale, df)
    far = 80.0
    expected, _ = integrate.dblquad(
        lambda v, u: density.pdf([u, v]) ** (1 + beta), -far, far, -far, far, epsrel=1e-6
    )
    actual = np.exp(student_t.log_integral(beta, df, 2, np.linalg.slogdet(scale)[1]))
    assert actual == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("d", [1, 5])
def test_the_score_is_equation_8(d):
    log_det, df, beta = np.linalg.slogdet(scale_of(d))[1], 6.0, 0.15
    for quadratic in (0.0, 2.5, 1e24):
        f = np.exp(student_t.log_density(df, d, log_det, quadratic / df))
        expected = f**beta / beta - integral(beta, df, d, log_det) / (1 + beta)
        actual = student_t.score(beta, df, d, log_det, quadratic / df)
        assert actual == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("quadratic", [0.0, 2.5, 40.0])
def test_the_score_tends_to_the_log_density(quadratic):
    """Equal up to the constant 1 / beta - 1, with an error of order beta."""
    exact = student_t.score(0.0, 6.0, 3, 0.7, quadratic / 6)
    assert exact == student_t.log_density(6.0, 3, 0.7, quadratic / 6)
    errors = [
        abs(student_t.score(beta, 6.0, 3, 0.7, quadratic / 6) - (1 / beta - 1) - exact)
        for beta in (1e-4, 1e-5)
    ]
    assert errors[0] < 0.02 and errors[1] == pytest.approx(errors[0] / 10, rel=0.01)


def test_the_score_of_any_outlier_is_bounded_from_below():
    """The bound is -I / (1 + beta), which the score approaches; the log density has none."""
    beta, df, log_det = 0.15, 6.0, 1.3
    bound = -np.exp(student_t.log_integral(beta, df, 1, log_det)) / (1 + beta)
    scores = [student_t.score(beta, df, 1, log_det, 10.0**k) for k in range(0, 300, 10)]
    assert np.all(np.diff(scores) <= 0) and min(scores) >= bound
    assert scores[-1] == pytest.approx(bound)
    assert student_t.score(0.0, df, 1, log_det, 1e300) < -2000

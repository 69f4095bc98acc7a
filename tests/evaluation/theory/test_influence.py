"""Influence functions against closed forms for the standard posterior, and limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from shiftbench.core.errors import UserError
from shiftbench.evaluation.theory.influence import Posterior, influence, initial_beta

X = np.array([0.0, 0.7, 2.0, 4.0, 9.0])


def expected_power(beta, posterior, x):
    """Return log E f^beta under the normal-inverse-gamma posterior, in closed form."""
    a, b, d = posterior.a, posterior.b, posterior.d
    r = 1 + beta * posterior.variance
    s = 0.5 * d * beta
    c = 0.5 * beta * (x * posterior.scale) ** 2 / r
    log_ratio = gammaln(a + s) - gammaln(a)
    tail = a * np.log(b) - (a + s) * np.log(b + c)
    return -s * np.log(2 * np.pi) - 0.5 * d * np.log(r) + log_ratio + tail


@pytest.mark.parametrize(
    "posterior",
    [
        Posterior(a=1.0, b=2.0, variance=0.25),
        Posterior(a=50.0, b=3.0, variance=0.02),
        Posterior(a=3.0, b=5.0, variance=100.0),
        Posterior(a=3.0, b=5.0, variance=0.5, d=5),
    ],
)
def test_the_standard_influence_has_a_closed_form(posterior):
    affinity = expected_power(0.5, posterior, X) - 0.5 * expected_power(1.0, posterior, X)
    np.testing.assert_allclose(influence(X, 0.0, posterior), np.arccos(np.exp(affinity)), rtol=1e-4)


def test_with_known_noise_it_is_the_distance_of_two_gaussians():
    posterior = Posterior(b=4.0, variance=0.3)
    new = 0.3 / 1.3
    shift = 0.3 / 1.3 * X * posterior.scale / 2.0
    squared = shift**2 / (4 * (0.3 + new))
    affinity = np.sqrt(2 * np.sqrt(0.3 * new) / (0.3 + new)) * np.exp(-squared)
    np.testing.assert_allclose(influence(X, 0.0, posterior), np.arccos(affinity), rtol=1e-8)


def test_the_robust_influence_equals_monte_carlo():
    posterior, beta, rng = Posterior(a=3.0, b=5.0, variance=0.5), 0.3, np.random.default_rng(0)
    s2 = stats.invgamma.rvs(3.0, scale=5.0, size=400_000, random_state=rng)
    level = rng.normal(size=s2.size) * np.sqrt(0.5 * s2)
    f = stats.norm.pdf(2.5 * posterior.scale, level, np.sqrt(s2))
    score = f**beta / beta - (2 * np.pi * s2) ** (-beta / 2) * (1 + beta) ** -1.5
    affinity = np.exp(score / 2).mean() / np.sqrt(np.exp(score).mean())
    actual = influence(np.array([2.5]), beta, posterior)[0]
    assert actual == pytest.approx(np.arccos(affinity), rel=5e-3)


def test_standard_grows_and_robust_returns():
    """Fig. 1A: a larger beta moves the maximum closer."""
    x, posterior = np.linspace(0, 12, 121), Posterior(a=50.0, b=50.0)
    assert (np.diff(influence(x, 0.0, posterior)[20:]) > 0).all()
    most = [x[influence(x, beta, posterior).argmax()] for beta in (0.05, 0.1, 0.2, 0.4)]
    assert (np.diff(most) < 0).all()
    np.testing.assert_allclose(
        influence(x, 1e-6, posterior), influence(x, 0.0, posterior), rtol=1e-3
    )


def test_of_a_sharp_gaussian_the_best_beta_is_one_over_the_distance_squared():
    sharp = Posterior(variance=1e-8)
    for distance in (1.5, 4.0):
        assert initial_beta(distance, sharp) == pytest.approx(distance**-2, rel=1e-5)


@pytest.mark.parametrize(
    ("distance", "posterior"),
    [(4.0, Posterior(a=5.0, b=5.0, variance=0.1)), (3.0, Posterior(a=50.0, b=200.0))],
)
def test_the_maximum_is_where_it_was_asked_for(distance, posterior):
    x = np.linspace(0, 15, 1501)
    actual = influence(x, initial_beta(distance, posterior), posterior)
    assert x[actual.argmax()] == pytest.approx(distance, abs=0.01)


def test_a_distance_that_no_beta_has_is_refused():
    with pytest.raises(UserError, match="distance 1000"):
        initial_beta(1000.0, Posterior())

"""Closed forms of expected losses against quadrature, sampling and differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from shiftbench.methods.online import losses

KINDS = ("hinge", "squared", "absolute")
POINTS = [(1.0, 0.3, 0.7), (-1.0, 0.3, 0.7), (1.0, 4.0, 1.5), (-1.0, 2.0, 0.05), (1.0, -3.0, 2.0)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("y", "mu", "tau"), POINTS)
def test_expected_value_equals_quadrature(kind, y, mu, tau):
    loss = losses.Loss(kind)

    def integrand(z):
        return loss.value(y, z) * np.exp(-0.5 * ((z - mu) / tau) ** 2) / tau / np.sqrt(2 * np.pi)

    kink = 1 / y if kind == "hinge" else y
    exact, _ = quad(integrand, mu - 12 * tau, mu + 12 * tau, points=[kink], limit=200)
    assert loss.expected(y, mu, tau).value == pytest.approx(exact, abs=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_equal_finite_differences_and_sampling(kind):
    loss, rng = losses.Loss(kind), np.random.default_rng(0)
    x, m, sd, y = rng.normal(size=5), rng.normal(size=5), rng.uniform(0.2, 1, 5), 1.0

    def expected(m, sd):
        return loss.expected(y, m @ x, np.sqrt((sd**2 * x**2).sum()))

    _, slope, curvature = expected(m, sd)
    of_mean, of_sd = slope * x, curvature * sd * x**2
    for j, shift in enumerate(1e-5 * np.eye(5)):
        by_mean = (expected(m + shift, sd).value - expected(m - shift, sd).value) / 2e-5
        by_sd = (expected(m, sd + shift).value - expected(m, sd - shift).value) / 2e-5
        assert of_mean[j] == pytest.approx(by_mean, abs=1e-6)
        assert of_sd[j] == pytest.approx(by_sd, abs=1e-6)
    noise = rng.normal(size=(400_000, 5))
    slopes = loss.slope(y, (m + noise * sd) @ x)
    for sampled, exact in (
        (slopes[:, None] * x, of_mean),
        (slopes[:, None] * x * noise, of_sd),
    ):
        error = sampled.std(axis=0) / np.sqrt(len(noise))
        assert (np.abs(sampled.mean(axis=0) - exact) < 4 * error + 1e-12).all()


@pytest.mark.parametrize("kind", KINDS)
def test_without_spread_the_expectation_is_the_loss(kind):
    loss = losses.Loss(kind)
    y, mu = np.array([1.0, -1.0, 1.0]), np.array([0.4, 0.4, 2.0])
    expected = loss.expected(y, mu, np.zeros(3))
    np.testing.assert_array_equal(expected.value, loss.value(y, mu))
    np.testing.assert_array_equal(expected.slope, loss.slope(y, mu))
    assert np.isfinite(expected.curvature).all()


@pytest.mark.parametrize("kind", KINDS)
def test_stays_finite_at_the_ends(kind):
    mu, tau = np.array([0.0, 1e10, -1e10, 1.0, 1e10]), np.array([1e10, 1e-9, 0.0, 0.0, 1e-300])
    for part in losses.Loss(kind).expected(1.0, mu, tau):
        assert np.isfinite(part).all()

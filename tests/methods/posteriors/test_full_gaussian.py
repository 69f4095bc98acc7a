"""Broadened full-covariance Gaussians against densities on a grid."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal, stats

from shiftbench.core.interface import Broadening
from shiftbench.methods.posteriors import full_gaussian

MEAN, PRIOR_MEAN, PRIOR_VARIANCE = np.array([0.4, -0.7]), 0.3, 1.5
COVARIANCE = np.array([[0.5, 0.3], [0.3, 0.6]])
AXIS = np.linspace(-9, 9, 361)
GRID = np.stack(np.meshgrid(AXIS, AXIS, indexing="ij"), axis=-1)
KINDS = ("temper", "temper-prior", "geometric", "diffuse", "ou")


def on_grid(how: Broadening) -> np.ndarray:
    """Return the broadened density from its definition, normalised on the grid."""
    q = stats.multivariate_normal(MEAN, COVARIANCE).pdf(GRID)
    p0 = stats.multivariate_normal([PRIOR_MEAN] * 2, PRIOR_VARIANCE * np.eye(2)).pdf(GRID)
    if how.kind == "diffuse":
        noise = stats.multivariate_normal([0, 0], how.variance * np.eye(2)).pdf(GRID)
        wide = signal.fftconvolve(q, noise, mode="same")
    elif how.kind == "ou":
        # Density of beta x + (1 - beta) m0 + noise, as a point of the process is drawn.
        scaled = stats.multivariate_normal(MEAN, COVARIANCE).pdf(
            (GRID - (1 - how.beta) * PRIOR_MEAN) / how.beta
        )
        variance = (1 - how.beta**2) * PRIOR_VARIANCE
        noise = stats.multivariate_normal([0, 0], variance * np.eye(2)).pdf(GRID)
        wide = signal.fftconvolve(scaled, noise, mode="same")
    else:
        power = {"temper": 0.0, "temper-prior": 1.0, "geometric": 1 - how.beta}[how.kind]
        wide = q**how.beta * p0**power
    return wide / wide.sum()


@pytest.mark.parametrize("kind", KINDS)
def test_moments_are_those_of_the_density_on_a_grid(kind):
    how = Broadening(kind, beta=0.6, variance=0.8)
    mean, root = full_gaussian.broaden(
        MEAN, np.linalg.cholesky(COVARIANCE), how, PRIOR_MEAN, PRIOR_VARIANCE
    )
    density = on_grid(how)
    expected = np.einsum("ij,ijk->k", density, GRID)
    away = GRID - expected
    np.testing.assert_allclose(mean, expected, atol=1e-8)
    covariance = np.einsum("ij,ijk,ijl->kl", density, away, away)
    np.testing.assert_allclose(root @ root.T, covariance, atol=1e-7)
    assert (np.triu(root, 1) == 0).all() and (np.diag(root) > 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_stack_is_widened_one_by_one(kind):
    random = np.random.default_rng(0)
    mean = random.normal(size=(2, 3, 4))
    root = np.tril(random.normal(size=(2, 3, 4, 4))) + 3 * np.eye(4)
    how = Broadening(kind, beta=0.3, variance=0.2)
    wide = full_gaussian.broaden(mean, root, how, 1.0, 2.0)
    for s, h in np.ndindex(2, 3):
        alone = full_gaussian.broaden(mean[s, h], root[s, h], how, 1.0, 2.0)
        for one, other in zip(wide, alone, strict=True):
            np.testing.assert_allclose(one[s, h], other, rtol=1e-12)


def test_a_long_run_with_a_share_of_the_prior_ends_at_the_prior():
    mean, root = MEAN, 1e-4 * np.eye(2)
    for _ in range(2000):
        mean, root = full_gaussian.broaden(mean, root, Broadening("geometric", 0.9), 0.5, 2.0)
    np.testing.assert_allclose(root @ root.T, 2 * np.eye(2), rtol=1e-9)
    np.testing.assert_allclose(mean, 0.5, rtol=1e-9)


def test_a_move_to_the_prior_is_the_prior_and_none_changes_no_bit():
    root = np.linalg.cholesky(COVARIANCE)
    prior = full_gaussian.broaden(MEAN, root, Broadening("ou", 0.0), PRIOR_MEAN, PRIOR_VARIANCE)
    np.testing.assert_array_equal(prior[0], PRIOR_MEAN)
    np.testing.assert_array_equal(prior[1], np.sqrt(PRIOR_VARIANCE) * np.eye(2))
    same = full_gaussian.broaden(MEAN, root, Broadening("ou", 1.0), PRIOR_MEAN, PRIOR_VARIANCE)
    np.testing.assert_array_equal(same[0], MEAN)
    np.testing.assert_array_equal(same[1], root)

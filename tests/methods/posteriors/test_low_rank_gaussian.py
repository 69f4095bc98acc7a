"""Low-rank plus diagonal precisions against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core.interface import Broadening
from shiftbench.methods.lazy_probability import tfd
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.posteriors import low_rank_gaussian as family

P, L = 6, 2


def gaussian(seed=0):
    """Return mean [2, 1, P], low_rank [2, 1, P, L] and diagonal [2, 1, P], in float64."""
    rng = np.random.default_rng(seed)
    low_rank = 2 * rng.normal(size=(2, 1, P, L))
    return rng.normal(size=(2, 1, P)), low_rank, rng.uniform(0.5, 3, (2, 1, P))


def dense(low_rank, diagonal):
    return low_rank @ np.swapaxes(low_rank, -1, -2) + diagonal[..., None] * np.eye(P)


@pytest.mark.parametrize("scale", [1.0, 0.0])
def test_draws_have_the_covariance(scale):
    mean, low_rank, diagonal = gaussian()
    low_rank = scale * low_rank
    # The noise is mapped linearly, so the matrix of the map gives the covariance.
    drawn = family.sample(mean, low_rank, diagonal, np.eye(P)[None, None]) - mean[..., None, :]
    result = np.swapaxes(drawn, -1, -2) @ drawn
    np.testing.assert_allclose(result, np.linalg.inv(dense(low_rank, diagonal)), atol=1e-12)


def test_products_and_determinant_equal_dense_ones():
    _, low_rank, diagonal = gaussian()
    precision = dense(low_rank, diagonal)
    x = np.random.default_rng(1).normal(size=(2, 1, P, 3))
    np.testing.assert_allclose(family.precision_times(low_rank, diagonal, x), precision @ x)
    result = family.covariance_times(low_rank, diagonal, x)
    np.testing.assert_allclose(result, np.linalg.solve(precision, x), atol=1e-12)
    result = family.log_det_precision(low_rank, diagonal)
    np.testing.assert_allclose(result, np.linalg.slogdet(precision)[1])


def test_density_and_divergence_equal_tfp():
    q, p = (gaussian(seed) for seed in (0, 1))
    full = [
        tfd.MultivariateNormalTriL(m, np.linalg.cholesky(np.linalg.inv(dense(u, d))))
        for m, u, d in (q, p)
    ]
    x = gaussian(2)[0]
    np.testing.assert_allclose(family.log_prob(x, *map(tf.constant, q)), full[0].log_prob(x))
    np.testing.assert_allclose(family.kl(*q, *p), full[0].kl_divergence(full[1]), rtol=1e-9)
    np.testing.assert_allclose(family.kl(*q, *q), 0, atol=1e-12)


def test_broadening_equals_that_of_dense_matrices():
    mean, low_rank, diagonal = gaussian()
    precision = dense(low_rank, diagonal)
    result = family.broaden(mean, low_rank, diagonal, Broadening("temper", beta=0.3))
    np.testing.assert_allclose(dense(*result[1:]), 0.3 * precision)
    np.testing.assert_array_equal(result[0], mean)
    kind = Broadening("temper-prior", beta=0.3)
    result = family.broaden(mean, low_rank, diagonal, kind, 0.5, 4.0)
    exact = 0.3 * precision + np.eye(P) / 4
    np.testing.assert_allclose(dense(*result[1:]), exact)
    weighted = 0.3 * precision @ mean[..., None] + 0.5 / 4
    np.testing.assert_allclose(result[0], np.linalg.solve(exact, weighted)[..., 0])
    result = family.broaden(mean, low_rank, diagonal, Broadening("diffuse", variance=0.7))
    exact = np.linalg.inv(precision) + 0.7 * np.eye(P)
    np.testing.assert_allclose(np.linalg.inv(dense(*result[1:])), exact, atol=1e-10)
    np.testing.assert_array_equal(result[0], mean)
    for beta in (0.0, 0.3, 1.0):
        result = family.broaden(mean, low_rank, diagonal, Broadening("ou", beta), 0.5, 4.0)
        exact = beta**2 * np.linalg.inv(precision) + (1 - beta**2) * 4 * np.eye(P)
        np.testing.assert_allclose(np.linalg.inv(dense(*result[1:])), exact, atol=1e-10)
        np.testing.assert_allclose(result[0], beta * mean + (1 - beta) * 0.5)

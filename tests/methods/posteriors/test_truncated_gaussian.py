"""Truncated noise against SciPy's truncated normal, and the normal where nothing is cut off."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.posteriors import truncated_gaussian

NORMALS = np.random.default_rng(0).normal(size=200_000).astype(np.float32)


def noise(truncation, normals=NORMALS):
    return truncated_gaussian.noise(tf.constant(normals), truncation).numpy()


@pytest.mark.parametrize("truncation", [0.25, 1.0, 3.0])
def test_has_the_distribution_of_a_cut_normal(truncation):
    eps = noise(truncation)
    cut = stats.truncnorm(-truncation, truncation)
    assert np.abs(eps).max() <= truncation
    assert eps.var() == pytest.approx(cut.var(), rel=0.02)
    assert stats.kstest(eps, cut.cdf).pvalue > 1e-3


@pytest.mark.parametrize("truncation", [0.25, 2.0, 6.0])
def test_is_the_quantile_of_the_normal_number_digit_for_digit(truncation):
    z = np.array([-6.0, -3.0, -1.0, -1e-3, 0.0, 1e-3, 0.5, 2.0, 6.0], np.float32)
    # Use the lower tail: in the upper one, double precision runs out.
    low = stats.norm.cdf(-truncation)
    exact = -stats.norm.ppf(low + (1 - 2 * low) * stats.norm.sf(np.abs(z.astype(float))))
    np.testing.assert_allclose(noise(truncation, z), np.sign(z) * exact, rtol=2e-5, atol=2e-7)


def test_is_odd_and_keeps_the_order():
    z = np.sort(NORMALS[:2000])
    np.testing.assert_array_equal(noise(1.0, -z), -noise(1.0, z))
    assert (np.diff(noise(1.0, z)) >= 0).all()


def test_is_the_number_itself_where_the_cut_is_far_away():
    np.testing.assert_allclose(noise(12.0), NORMALS, rtol=1e-4, atol=1e-5)

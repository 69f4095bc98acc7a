"""Broadened independent Gaussians against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core.interface import Broadening, LearnerError
from shiftbench.methods.posteriors import full_gaussian, mean_field_gaussian

MEAN, VARIANCE = np.array([0.4, -0.7, 2.0]), np.array([0.5, 0.02, 3.0])


@pytest.mark.parametrize("kind", ["temper", "temper-prior", "geometric", "diffuse", "ou"])
def test_equals_the_full_gaussian_of_a_diagonal_covariance(kind):
    how = Broadening(kind, beta=0.6, variance=0.8)
    mean, variance = mean_field_gaussian.broaden(MEAN, VARIANCE, how, 0.3, 1.5)
    root = np.diag(np.sqrt(VARIANCE))
    expected, wide = full_gaussian.broaden(MEAN, root, how, 0.3, 1.5)
    np.testing.assert_allclose(mean, expected, rtol=1e-12)
    np.testing.assert_allclose(np.diag(variance), wide @ wide.T, rtol=1e-12)


def test_steps_towards_the_prior_add_up_to_one():
    one = mean_field_gaussian.broaden(MEAN, VARIANCE, Broadening("ou", 0.8), 0.3, 1.5)
    two = mean_field_gaussian.broaden(*one, Broadening("ou", 0.5), 0.3, 1.5)
    both = mean_field_gaussian.broaden(MEAN, VARIANCE, Broadening("ou", 0.4), 0.3, 1.5)
    np.testing.assert_allclose(two, both, rtol=1e-12)


def test_a_whole_step_is_the_prior_and_none_changes_no_bit():
    prior = mean_field_gaussian.broaden(MEAN, VARIANCE, Broadening("ou", 0.0), 0.3, 1.5)
    np.testing.assert_array_equal(prior, [np.full(3, 0.3), np.full(3, 1.5)])
    same = mean_field_gaussian.broaden(MEAN, VARIANCE, Broadening("ou", 1.0), 0.3, 1.5)
    np.testing.assert_array_equal(same, [MEAN, VARIANCE])


def test_there_is_no_step_towards_a_flat_prior():
    with pytest.raises(LearnerError, match="flat prior, which has no variance"):
        mean_field_gaussian.broaden(MEAN, VARIANCE, Broadening("ou", 0.5), 0.0, np.inf)

"""The merged prior against the weighted sum of divergences that it replaces."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core.interface import Broadening
from shiftbench.methods.posteriors import mean_field_gaussian, merged_gaussian

MEANS, PRECISIONS = (-1.0, 0.0, 2.0, 1.0), (1.0, 1.0, 2.0, 4.0)
"""Means and precisions of four Gaussians, oldest first."""
WEIGHTS = np.array([1, 2, 4, 8]) / 15


def shaped(*numbers: float) -> np.ndarray:
    return np.array(numbers).reshape(1, 1, -1)


def merged(means=MEANS, precisions=PRECISIONS, decay=0.5):
    """Return the sums after Gaussians of one parameter each."""
    first, *later = zip(map(shaped, means), map(shaped, precisions), strict=True)
    state = merged_gaussian.begin(*first)
    for one in later:
        state = merged_gaussian.added(state, decay, *one)
    return state


def divergence(mean, variance, prior_mean, prior_precision):
    scaled = variance * prior_precision
    return 0.5 * (scaled + (mean - prior_mean) ** 2 * prior_precision - np.log(scaled) - 1)


@pytest.mark.parametrize("q", [(0.3, 0.7), (-2.0, 5.0)])
def test_a_weighted_sum_of_divergences_is_one_plus_a_constant_for_any_q(q):
    """Weights 8, 4, 2 and 1 out of 15; P, M and the constant are golden numbers of the formula."""
    mean, precision = (float(a) for a in map(np.squeeze, merged_gaussian.moments(merged())))
    assert precision == pytest.approx(2.8666666667, rel=1e-6)
    assert mean == pytest.approx(1.0930232558, rel=1e-6)
    each = [divergence(*q, m, s) for m, s in zip(MEANS, PRECISIONS, strict=True)]
    constant = WEIGHTS @ each - divergence(*q, mean, precision)
    assert constant == pytest.approx(0.5187404028, rel=1e-5)


def test_without_decay_the_newest_alone_counts():
    state = merged_gaussian.begin(shaped(-1.0), shaped(9.0))
    state = merged_gaussian.added(state, 0.0, shaped(0.5), shaped(4.0))
    mean, precision = merged_gaussian.moments(state)
    assert (mean.item(), precision.item()) == (0.5, 4.0)


@pytest.mark.parametrize("kind", ["temper", "temper-prior", "geometric"])
def test_broadening_the_merged_is_merging_the_broadened(kind):
    how = Broadening(kind, beta=0.3)
    wide = merged_gaussian.broadened(merged(), how, prior_variance=0.8)
    each = [
        mean_field_gaussian.broaden(shaped(m), shaped(1 / s), how, 0.0, 0.8)
        for m, s in zip(MEANS, PRECISIONS, strict=True)
    ]
    expected = merged([m.item() for m, _ in each], [1 / v.item() for _, v in each])
    for name, array in expected.items():
        np.testing.assert_allclose(wide[name], array, rtol=1e-5, err_msg=name)


def test_diffusion_adds_to_the_variance_of_the_merged():
    wide = merged_gaussian.broadened(merged(), Broadening("diffuse", variance=0.5), 1.0)
    mean, precision = merged_gaussian.moments(wide)
    assert mean.item() == pytest.approx(1.0930232558, rel=1e-6)
    assert 1 / precision.item() == pytest.approx(1 / 2.8666666667 + 0.5, rel=1e-6)

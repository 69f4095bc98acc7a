"""Kaplan-Meier on whole tasks: against SciPy, without censoring, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from shiftbench.evaluation.scoring import survival


def scipys(wait, ended, upto):
    """Return SciPy's estimate of P(D > d), which requires at least one event."""
    data = stats.CensoredData(wait[ended], right=wait[~ended])
    return stats.ecdf(data).sf.evaluate(np.arange(upto))


def test_the_curve_is_that_of_scipy():
    random = np.random.default_rng(1)
    wait = random.integers(0, 12, (40, 9))
    ended = random.random(wait.shape) < 0.6
    ended[:, 0] = True
    curve = survival.survival(wait, ended, 15)
    expected = [scipys(*one, 15) for one in zip(wait, ended, strict=True)]
    np.testing.assert_allclose(curve, expected, atol=1e-12)


def test_without_censoring_it_is_the_empirical_distribution():
    wait = np.random.default_rng(2).geometric(0.2, (5, 51)) - 1
    ended = np.ones(wait.shape, bool)
    share = (wait[:, None] > np.arange(60)[:, None]).mean(axis=2)
    np.testing.assert_allclose(survival.survival(wait, ended, 60), share, atol=1e-12)
    assert survival.median(wait, ended) == pytest.approx(np.median(wait, axis=1))
    limited = np.minimum(wait, 4).mean(axis=1)
    assert survival.restricted_mean(wait, ended, 4) == pytest.approx(limited)


def test_by_hand():
    # At risk 4, 3, 2: S = 3/4, then 3/4 * 2/3 = 1/2 at d = 2. The third is censored after task 2.
    wait, ended = np.array([0, 2, 2, 5]), np.array([True, True, False, True])
    expected = [3 / 4, 3 / 4, 1 / 2, 1 / 2, 1 / 2, 0, 0]
    np.testing.assert_allclose(survival.survival(wait, ended, 7), expected)
    assert survival.median(wait, ended) == 2
    assert survival.restricted_mean(wait, ended, 3) == pytest.approx(2)


def test_what_is_never_found_counts_with_its_longest_wait_and_padding_does_not_count():
    wait = np.array([[3, 7, -1], [-1, -1, -1]])
    ended = np.zeros(wait.shape, bool)
    np.testing.assert_array_equal(survival.median(wait, ended), [8, np.nan])
    np.testing.assert_array_equal(survival.restricted_mean(wait, ended, 5), [5, np.nan])
    assert survival.median(wait[:, :0], ended[:, :0]).shape == (2,)


def test_the_interval_of_the_median_holds_it_and_is_open_where_half_are_not_found():
    random = np.random.default_rng(3)
    held = 0
    for _ in range(200):
        wait = random.geometric(0.15, 40) - 1  # P(D > 3) > 1/2 > P(D > 4)
        limit = random.integers(3, 20, 40)
        ended = wait <= limit
        middle, low, high = survival.median_interval(np.minimum(wait, limit), ended)
        assert low <= middle <= high
        held += low <= 4 <= high
    assert held >= 180
    wait, ended = np.array([1, 5, 5, 5, 5, 5, 5, -1]), np.arange(8) == 0
    assert survival.median_interval(wait, ended)[::2] == (6, np.inf)
    assert survival.median_interval(wait[1:], ended[1:]) == (6, 6, np.inf)
    np.testing.assert_equal(survival.median_interval(wait[2:], ended[2:]), (6, np.nan, np.nan))
    assert np.isnan(survival.median_interval(wait[:0], ended[:0])).all()
    assert survival.median_interval(np.full((4, 5), 2), np.ones((4, 5), bool)) == (2, 2, 2)

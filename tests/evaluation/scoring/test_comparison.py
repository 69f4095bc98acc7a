"""Comparisons against SciPy, statsmodels, and cases by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from shiftbench.evaluation.scoring import comparison

A = np.array([0.90, 0.92, 0.95, 0.91, 0.93])
B = np.array([0.88, 0.91, 0.92, 0.91, 0.90])


def test_p_is_that_of_the_paired_t_test():
    assert comparison.compare(A, B, 0.01).p == pytest.approx(stats.ttest_rel(A, B).pvalue)


def test_failed_seeds_of_either_are_left_out():
    failed = [np.array([0.5, np.nan]), np.array([np.nan, 0.5])]
    found = comparison.compare(np.append(A, failed[0]), np.append(B, failed[1]), 0.01)
    assert found == comparison.compare(A, B, 0.01)
    assert found.difference.n == 5


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ([A, B], ""),
        ([A, [0.5] * 5], ""),
        ([A[:1], B[:1]], "one seed"),
        ([[0.5] * 5, [0.6] * 4 + [np.nan]], "all seeds alike"),
        ([[0.1 + 0.2, 0.3], [np.nan] * 2], "all seeds alike"),
        ([[0.5, np.nan], [0.6, np.nan]], ""),
        ([[np.inf] * 2, [0.0] * 2], "all seeds alike"),
        ([], ""),
    ],
)
def test_copies_and_one_seed_are_not_tested(scores, reason):
    assert comparison.untested(map(np.array, scores)) == reason


def test_equivalence_is_the_posterior_of_the_mean_under_the_reference_prior():
    """Compare with draws of the variance from its scaled inverse chi-squared, then of the mean."""
    d, generator = A - B, np.random.default_rng(0)
    variance = (len(d) - 1) * d.var(ddof=1) / generator.chisquare(len(d) - 1, 400_000)
    mean = generator.normal(d.mean(), np.sqrt(variance / len(d)))
    expected = (np.abs(mean) < 0.015).mean()
    assert comparison.compare(A, B, 0.015).equivalent == pytest.approx(expected, abs=0.004)


def test_the_smallest_difference_is_found_four_times_in_five():
    d = A - B
    smallest = comparison.compare(A, B, 0.01).smallest
    power = TTestPower().power(smallest / d.std(ddof=1), len(d), 0.05)
    assert power == pytest.approx(0.8, abs=1e-4)


@pytest.mark.parametrize("n", [2, 3, 10])
def test_the_resolvable_effect_is_that_of_simulated_studies(n):
    effect = comparison.resolvable_effect(n)
    draws = np.random.default_rng(n).normal(effect, 1, (40_000, n))
    assert (stats.ttest_1samp(draws, 0, axis=1).pvalue < 0.05).mean() == pytest.approx(
        0.8, abs=0.01
    )


@pytest.mark.parametrize(
    ("values", "others", "mean"),
    [
        ([0.9], [0.8], 0.1),
        ([0.9, np.nan], [0.8, 0.7], 0.1),
        ([0.9, 0.8], [0.8, 0.7], 0.1),  # equal up to rounding
        ([0.5, 0.5], [0.5, 0.5], 0.0),
        ([np.nan, 0.5], [0.5, np.nan], np.nan),
    ],
)
def test_nothing_is_known_of_one_seed_or_of_equal_differences(values, others, mean):
    found = comparison.compare(np.array(values), np.array(others), 0.01)
    assert found.difference.mean == pytest.approx(mean, nan_ok=True)
    assert np.isnan(found[1:]).all()


def test_holm_by_hand():
    """Sorted p values times 3, 2 and 1, and never below the one before."""
    found = comparison.corrected([0.04, np.nan, 0.01, 0.03])
    assert found == pytest.approx([0.06, np.nan, 0.03, 0.06], nan_ok=True)
    assert np.isnan(comparison.corrected([np.nan])).all()
    assert len(comparison.corrected([])) == 0

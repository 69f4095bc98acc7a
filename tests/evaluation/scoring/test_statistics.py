"""Intervals against SciPy, and the paper's three-stage standard deviation by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from shiftbench.evaluation.scoring import statistics


def test_interval_equals_scipys():
    values = np.array([0.3, 0.5, 0.9, 0.4, 0.6])
    found = statistics.interval(np.array([*values, np.nan]))
    low, high = stats.t.interval(0.95, 4, values.mean(), stats.sem(values))
    assert found == pytest.approx((values.mean(), values.std(ddof=1), low, high, 5))


@pytest.mark.parametrize("within", [(0.0, 1.0), (-1.0, 1.0), (0.0, None), (None, 2.0)])
@pytest.mark.parametrize("n", [2, 3, 20])
def test_an_interval_stays_within_the_bounds_and_holds_the_mean(within, n):
    low, high = (0.0 if within[0] is None else within[0], 1.0 if within[1] is None else within[1])
    generator = np.random.default_rng(n)
    for spread in (1e-13, 1e-10, 0.1, 1.0):
        values = high - (high - low) * spread * generator.beta(0.2, 0.5, n)
        found = statistics.interval(values, within)
        assert found.mean == values.mean()
        if found.sd <= statistics.EQUAL * abs(found.mean):
            assert np.isnan([found.low, found.high]).all()
            continue
        assert within[0] is None or within[0] <= found.low
        assert within[1] is None or found.high <= within[1]
        assert found.low <= found.mean <= found.high


def test_the_logit_interval_is_the_delta_methods():
    values = np.array([0.90, 0.95, 0.99])
    odds = stats.logistic.ppf(values.mean())
    half = stats.t.ppf(0.975, 2) * stats.sem(values) / (values.mean() * (1 - values.mean()))
    expected = stats.logistic.cdf([odds - half, odds + half])
    assert statistics.interval(values, (0.0, 1.0))[2:4] == pytest.approx(tuple(expected))


def test_the_logarithmic_interval_is_the_delta_methods():
    values = np.array([1.0, 2.0, 6.0])
    ratio = np.exp(stats.t.ppf(0.975, 2) * stats.sem(values) / 3)
    assert statistics.interval(values, (0.0, None))[2:4] == pytest.approx((3 / ratio, 3 * ratio))


def test_units_do_not_move_an_interval():
    values = np.array([0.90, 0.95, 0.99])
    percent = statistics.interval(100 * values, (0.0, 100.0))
    assert statistics.interval(values, (0.0, 1.0)).times(100) == pytest.approx(percent)


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_equal_seeds_have_no_interval_and_a_band_of_their_mean(value):
    for last in (value, value * (1 - 1e-16)):
        values = np.array([value, value, last])
        found = statistics.interval(values, (0.0, 1.0))
        assert found.mean == pytest.approx(value) and np.isnan([found.low, found.high]).all()
        band = statistics.band(values[:, None], (0.0, 1.0))
        assert band.low == band.high == found.mean


def test_an_infinite_score_has_no_interval():
    found = statistics.interval(np.array([1.0, np.inf]), (0.0, None))
    assert found.mean == np.inf and np.isnan([found.low, found.high]).all()


def test_differences_that_are_equal_but_for_rounding_have_no_interval():
    values = np.array([0.1, 0.7, 0.3])
    for other in (values, values - 1e-16, values - 0.05):
        found = statistics.paired_difference(values, other)
        assert np.isnan([found.low, found.high]).all() and found.n == 3
    assert not np.isnan(statistics.paired_difference(values, values - [0.05, 0.05, 0.051]).low)


def test_a_band_without_tasks_is_empty_and_an_infinite_score_has_none():
    assert statistics.band(np.empty((3, 0))).mean.shape == (0,)
    band = statistics.band(np.array([[1.0], [np.inf]]))
    assert band.mean == np.inf and np.isnan([band.low, band.high]).all()


def test_differences_have_bounds_of_their_own():
    assert statistics.of_difference((0.0, 1.0)) == (-1.0, 1.0)
    assert statistics.of_difference((0.0, None)) == (None, None)
    found = statistics.paired_difference(np.array([0.1, 1.0, 0.9]), np.zeros(3), (0.0, 1.0))
    assert -1.0 < found.low < 0.0 < found.mean < found.high < 1.0


def test_captions_say_the_scale():
    assert statistics.described("accuracy", "acc").endswith("(Student t on the logit scale)")
    assert statistics.described("nll").endswith("on the log scale)")
    assert statistics.described("log_predictive").endswith("(Student t)")
    assert "where a metric is bounded" in statistics.described("nll", "accuracy")


def test_few_seeds_have_no_interval():
    one, none = statistics.interval(np.array([2.0])), statistics.interval(np.array([np.nan]))
    assert (one.mean, one.n, none.n) == (2.0, 1, 0)
    assert np.isnan([one.sd, one.low, none.mean, none.high]).all()


def test_pairing_removes_what_seeds_share():
    shared = np.array([0.0, 10.0, 20.0, 30.0])
    found = statistics.paired_difference(shared + np.array([1.0, 1.1, 0.9, 1.0]), shared)
    assert found.mean == pytest.approx(1.0)
    assert found.high - found.low < 0.3


def test_a_band_is_the_interval_by_task():
    values = np.random.default_rng(0).normal(size=(4, 3))
    band = statistics.band(values)
    assert band.low[1] == pytest.approx(statistics.interval(values[:, 1]).low)


def test_three_stage_sd_by_hand():
    # Segments (1, 2, 3), (5, 9), and a single task, which is skipped.
    shift = np.array([False, False, False, True, False, True])
    by_task = np.array([1.0, 2.0, 3.0, 5.0, 9.0, 100.0])
    expected = (np.sqrt(2 / 3) + 2.0) / 2
    assert statistics.three_stage_sd(by_task, shift) == pytest.approx(expected)


def test_a_shift_at_the_first_task_opens_no_empty_segment():
    assert statistics.three_stage_sd(np.array([1.0, 3.0]), np.array([True, False])) == 1.0


def test_three_stage_sd_needs_a_segment_of_two():
    assert np.isnan(statistics.three_stage_sd(np.ones(3), np.array([False, True, True])))

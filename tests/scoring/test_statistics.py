"""Intervals against scipy, and the paper's three-stage standard deviation by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from shiftbench.scoring import statistics


def test_interval_equals_scipys():
    values = np.array([0.3, 0.5, 0.9, 0.4, 0.6])
    found = statistics.interval(np.array([*values, np.nan]))
    low, high = stats.t.interval(0.95, 4, values.mean(), stats.sem(values))
    assert found == pytest.approx((values.mean(), values.std(ddof=1), low, high, 5))


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
    # Segments (1, 2, 3), (5, 9) and a single task, which is skipped.
    shift = np.array([False, False, False, True, False, True])
    by_task = np.array([1.0, 2.0, 3.0, 5.0, 9.0, 100.0])
    expected = (np.sqrt(2 / 3) + 2.0) / 2
    assert statistics.three_stage_sd(by_task, shift) == pytest.approx(expected)


def test_a_shift_at_the_first_task_opens_no_empty_segment():
    assert statistics.three_stage_sd(np.array([1.0, 3.0]), np.array([True, False])) == 1.0


def test_three_stage_sd_needs_a_segment_of_two():
    assert np.isnan(statistics.three_stage_sd(np.ones(3), np.array([False, True, True])))

"""The simple jumper equals the martingale of its formula, and its false alarms are rare."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shiftbench.methods.detectors import draws, jumper
from tests.methods.detectors.watched import NEVER, VALUES, watched


def test_capital_is_that_of_the_reference():
    """Recorded from online-cp 0.4.0 with three experts, on p-values from a formula."""
    capital, found = np.full(3, -math.log(3)), {}
    for n in range(1, 201):
        p = n * 0.6180339887498949 % 1
        found[n] = jumper.bet(capital, p * p if n > 100 else p, 0.01) / math.log(10)
    expected = [-0.0090225832, -0.4207884283, -0.6049950124, 0.6748735431, 2.8924621734]
    assert [found[n] for n in (2, 50, 100, 150, 200)] == pytest.approx(expected, abs=5e-11)


def test_a_p_value_is_the_rank_from_above():
    ring = np.array([3.0, 1.0, 2.0, 2.0, 9.0])
    assert jumper.p_value(ring, 4, 2.0, 0.5) == (1 + 0.5 * 2) / 4
    assert jumper.p_value(ring, 4, 3.0, 1.0) == 1 / 4


def test_statistic_is_the_rise_of_the_capital_from_its_minimum():
    """Compare with the formulas without logarithms; each value only ties with itself."""
    values = np.random.default_rng(0).normal(size=60) + (np.arange(60) >= 30)
    found = watched(jumper.build(NEVER), values)
    capital, least, bets = np.full(3, 1 / 3), 1.0, np.array([-1, 0, 1])
    for n in range(1, 61):
        begin = np.uint64(draws.start(found.state["key"][0, 0], n - 1.0))
        theta = draws.uniform(begin, 0)
        p = ((values[:n] > values[n - 1]).sum() + theta) / n
        capital = (0.99 * capital + 0.01 / 3 * capital.sum()) * (1 + bets * (p - 0.5))
        rise = math.log(capital.sum() / least)
        assert found.statistic[n - 1] == pytest.approx(rise, abs=1e-12)
        least = min(least, capital.sum())
    assert found.state["log_capital"][0, 0] == pytest.approx(np.log(capital))
    assert found.state["least"] == pytest.approx(math.log(least))


def test_finds_the_change_and_ranks_among_the_newest_alone():
    assert 200 < watched(jumper.build(), VALUES).alarms[0] < 240
    long = np.concatenate([np.full(jumper.RANKED, 5.0), np.zeros(jumper.RANKED)])
    state = watched(jumper.build(NEVER), long).state
    assert (state["ring"] == 0).all() and state["count"] == len(long)


def test_false_alarms_are_rarer_than_the_threshold_says():
    """By Ville's inequality, capital exceeds c with probability at most 1 / c; CUSUM restarts."""
    rng = np.random.default_rng(4)
    first = [watched(jumper.build(math.log(20)), rng.normal(size=300), s).alarms for s in range(40)]
    assert np.mean([bool(alarms) for alarms in first]) < 0.5

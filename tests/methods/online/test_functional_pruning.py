"""R-FPOP against all segmentations of short series, and against known segments."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from shiftbench.core.interface import Batch, LearnerError, Problem
from shiftbench.methods.learners import robust_fpop
from shiftbench.methods.online import functional_pruning


def segment_cost(y, threshold):
    """Return min over mu of the biweight losses; inliers are contiguous in sorted order."""
    y = np.sort(y)
    costs = [len(y) * threshold**2]
    for first, last in combinations(range(len(y) + 1), 2):
        near = y[first:last]
        costs.append(((near - near.mean()) ** 2).sum() + threshold**2 * (len(y) - len(near)))
    return min(costs)


def enumerated(y, threshold, penalty):
    """Return the lowest cost of all segmentations, and all optimal starts of the last segment."""
    n, found = len(y), []
    for number in range(n):
        for changes in combinations(range(1, n), number):
            parts = np.split(y, changes)
            cost = sum(segment_cost(part, threshold) for part in parts) + penalty * number
            found.append((cost, changes[-1] if changes else 0))
    lowest = min(found)[0]
    return lowest, {start for cost, start in found if cost < lowest + 1e-9}


def segmented(y, threshold, penalty):
    starts = np.zeros(len(y), np.int64)
    return functional_pruning.segment(y, threshold, penalty, starts), starts


@pytest.mark.parametrize("seed", range(12))
def test_the_segmentation_is_the_best_of_all(seed):
    """Check cost, level and last change after every value, with outliers and tied values."""
    random = np.random.default_rng(seed)
    y = random.normal(size=9) + np.repeat([0, 4, 1], [3, 4, 2])
    y[random.integers(9)] += 20
    y = np.round(y) if seed % 3 == 0 else y
    threshold, penalty = random.uniform(0.5, 3), random.uniform(0.5, 9)
    _, starts = segmented(y, threshold, penalty)
    for t in range(1, len(y) + 1):
        cost, possible = enumerated(y[:t], threshold, penalty)
        best, _ = segmented(y[:t], threshold, penalty)
        assert best.cost == pytest.approx(cost, abs=1e-9)
        assert best.start in possible and starts[t - 1] in possible
        last = y[best.start : t]
        at_level = np.minimum((last - best.level) ** 2, threshold**2).sum()
        assert at_level == pytest.approx(segment_cost(last, threshold), abs=1e-9)


def test_no_outlier_is_a_change_and_a_jump_is():
    """One outlier costs at most K^2 = 9, less than the penalty 2 log 400 = 12."""
    y = np.random.default_rng(3).normal(size=400)
    y[250:] += 3
    y[[40, 120, 121, 300]] = 50, -80, 90, -50
    _, starts = segmented(y, 3.0, 2 * np.log(400))
    (change,) = functional_pruning.changes(starts)
    assert abs(change - 250) <= 2


def test_a_wide_threshold_is_least_squares():
    """With an unbounded loss, the cost is that of dynamic programming over all changes."""
    y = np.random.default_rng(4).normal(size=60) + np.repeat([0, 2, -1], 20)
    penalty, n = 6.0, len(y)
    lowest = np.zeros(n + 1)
    lowest[0] = -penalty
    for t in range(1, n + 1):
        lowest[t] = min(
            lowest[s] + penalty + ((y[s:t] - y[s:t].mean()) ** 2).sum() for s in range(t)
        )
    assert segmented(y, 1e3, penalty)[0].cost == pytest.approx(lowest[n])


def learn(y, **settings):
    """Return the learner, its last state, and its info after each value."""
    problem = Problem("regression", (0,), 1, 1, len(y))
    learner = robust_fpop.build(robust_fpop.Settings(**settings), problem)
    seeds = np.zeros((1, 2), int)
    state, infos = learner.init(seeds), []
    for one in y:
        row = Batch(np.zeros((1, 1, 0)), np.array([[[one]]]), np.ones((1, 1), bool))
        state, info = learner.observe(state, row, seeds)
        infos.append(info)
    return learner, state, infos


def test_the_learner_ends_with_the_segmentation_of_the_whole_series():
    """This holds in any units; changes are counted back from the last value."""
    random = np.random.default_rng(5)
    y = 1e5 + 2e3 * (random.normal(size=300) + np.repeat([0, 6, 2], 100))
    scale = functional_pruning.scale_of(y)
    assert scale == pytest.approx(2e3, rel=0.2)
    _, starts = segmented((y - np.median(y)) / scale, 3.0, 2 * np.log(300))
    learner, state, infos = learn(y)
    since = infos[-1]["rows_since_change"][0]
    assert [299 - k for k in since[:2]] == functional_pruning.changes(starts)
    assert np.abs(299 - since[:2] - [200, 100]).max() <= 1
    assert (since[2:] == -1).all() and infos[-1]["run_length"][0, 0] == since[0]
    forecast = learner.predict(state, np.zeros((1, 1, 0)), np.zeros((1, 2), int))
    assert forecast.mean[0, 0, 0, 0] == pytest.approx(np.median(y[200:]), abs=0.4 * 2e3)
    assert forecast.variance[0, 0, 0, 0] == pytest.approx(scale**2)


def test_equal_values_have_a_scale():
    assert functional_pruning.scale_of(np.full(5, 3.0)) == 1.0
    assert functional_pruning.scale_of(np.array([0.0, 0, 0, 0, 0, 2])) > 0


def test_too_many_changes_have_a_remedy():
    y = np.repeat(np.arange(6) * 50.0, 4) + np.random.default_rng(6).normal(size=24)
    with pytest.raises(LearnerError, match="more than 2 changes; raise keep"):
        learn(y, keep=2)

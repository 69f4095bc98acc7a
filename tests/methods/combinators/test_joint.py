"""Joint training keeps every row that it has seen."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, LearnerError, Problem
from shiftbench.methods.combinators import joint
from shiftbench.methods.learners import gaussian_mean

PROBLEM = Problem("regression", (0,), 1, 4, 3)
KEY = seeds.block([0, 1], "joint")
INNER = gaussian_mean.build(gaussian_mean.Settings(), PROBLEM)
LATE = [[False, True, True, True]] * 2  # as of a stream with horizon 2
GAPS = [[True, False, True, False], [False, False, True, True]]


def tasks(mask):
    """Return three tasks of both repetitions, with the values 0 to 3, 10 to 13 and 20 to 23."""
    for t in range(3):
        values = np.tile(10.0 * t + np.arange(4), (2, 1))[..., None]
        yield Batch(np.zeros((2, 4, 0)), values, np.array(mask))


@pytest.mark.parametrize("mask", [LATE, GAPS])
def test_rows_behind_masked_ones_are_kept(mask):
    learner = joint.build(joint.Settings(), PROBLEM, INNER)
    state = learner.init(KEY)
    for batch in tasks(mask):
        state, info = learner.observe(state, batch, KEY)
    for s in range(2):
        rows = np.concatenate([batch.targets[s, batch.mask[s], 0] for batch in tasks(mask)])
        kept = state["targets"][s, 0, state["mask"][s, 0], 0]
        np.testing.assert_array_equal(kept, rows)
        # The prior is N(0, 1) and the variance of the noise 1/4.
        np.testing.assert_allclose(info["posterior_mean"][s], 4 * rows.sum() / (1 + 4 * len(rows)))


def test_a_full_memory_is_an_error_with_the_number_of_rows():
    learner = joint.build(joint.Settings(capacity=7), PROBLEM, INNER)
    state = learner.init(KEY)
    first, second, _ = tasks(LATE)
    state, _ = learner.observe(state, first, KEY)
    with pytest.raises(LearnerError, match="8 rows do not fit its memory of 7; raise"):
        learner.observe(state, second, KEY)

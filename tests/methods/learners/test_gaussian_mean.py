"""The conjugate mean with missing values."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, LearnerError, Problem
from shiftbench.methods.learners import gaussian_mean

KEY = seeds.block([0, 1], "gaussian-mean")
LEARNER = gaussian_mean.build(gaussian_mean.Settings(), Problem("regression", (0,), 1, 3, 10))


def batch(middle_seen: bool) -> Batch:
    """Return 1, a missing value and 2; the inputs, which the learner ignores, are missing, too."""
    targets = np.tile([[1.0], [np.nan], [2.0]], (2, 1, 1))
    mask = np.tile([True, middle_seen, True], (2, 1))
    return Batch(np.full((2, 3, 1), np.nan), targets, mask)


def test_a_missing_value_that_is_seen_is_refused_with_its_place_and_the_remedy():
    place = "gaussian-mean: target 0 of row 1 of repetition 0 is nan; fill gaps, or mask the row"
    with pytest.raises(LearnerError, match=place):
        LEARNER.observe(LEARNER.init(KEY), batch(True), KEY)


def test_a_masked_row_may_have_none():
    state, info = LEARNER.observe(LEARNER.init(KEY), batch(False), KEY)
    # Prior N(0, 1), noise of variance 1/4: precision 1 + 2 x 4, and mean 4 (1 + 2) / 9.
    np.testing.assert_allclose(state["variance"], 1 / 9)
    np.testing.assert_allclose(state["mean"], 12 / 9)
    assert np.isfinite(info["log_evidence"]).all()

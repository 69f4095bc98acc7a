"""A seed without rows keeps its state."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from shiftbench.contract.learners import PARTS, batch_of, key
from shiftbench.methods.without_rows import unmoved


@pytest.mark.long
@pytest.mark.parametrize("name", ["gaussian-mean", "map", "mfvi"])
def test_the_seed_stays_and_the_other_learns_as_ever(name: str) -> None:
    learner, problem = PARTS.learner(name)
    state, _ = learner.observe(learner.init(key("init")), batch_of(problem), key("first"))
    batch = batch_of(problem, seed=1)
    partly_empty = batch._replace(mask=batch.mask & np.array([[True], [False]]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        after, info = unmoved(learner).observe(state, partly_empty, key("second"))
    whole, whole_info = learner.observe(state, batch, key("second"))
    for array in after:
        np.testing.assert_array_equal(after[array][1], state[array][1])
        np.testing.assert_array_equal(after[array][0], whole[array][0])
    for array in info:
        assert np.isfinite(np.asarray(info[array])[1]).all()
        np.testing.assert_array_equal(info[array][0], whole_info[array][0])

"""A seed without rows keeps its state."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from shiftbench.contract.learners import PARTS, batch_of, key
from shiftbench.core.interface import Batch
from shiftbench.methods.without_rows import unmoved

OF_THE_DATA = {"log_evidence", "elbo", "kl", "expected_log_likelihood"}


def test_the_evidence_of_no_data_is_zero_and_not_that_of_start_values() -> None:
    """The learner's evidence is finite without rows, and its second seed has none."""
    given = {name: np.array([[-5.0, -6.0], [-94.0, -95.0]]) for name in OF_THE_DATA}
    given |= {"steps": np.array([[3, 3], [3, 3]])}

    def observe(state, batch, seeds):
        return {"mean": state["mean"] + 1}, given

    plain, _ = PARTS.learner("gaussian-mean")
    learner = replace(plain, init=lambda seeds: {"mean": np.zeros((2, 2))}, observe=observe)
    batch = Batch(np.zeros((2, 3, 0)), np.zeros((2, 3, 1)), np.array([[True] * 3, [False] * 3]))
    after, info = unmoved(learner).observe(learner.init(key("none")), batch, key("none"))
    np.testing.assert_array_equal(after["mean"], [[1, 1], [0, 0]])
    for name in OF_THE_DATA:
        np.testing.assert_array_equal(info[name], [[-5, -6], [0, 0]])
    np.testing.assert_array_equal(info["steps"], given["steps"])


@pytest.mark.long
@pytest.mark.parametrize("name", ["gaussian-mean", "map", "mfvi", "slang", "ucb"])
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
    for array in OF_THE_DATA & info.keys():
        assert (np.asarray(info[array])[1] == 0).all(), array

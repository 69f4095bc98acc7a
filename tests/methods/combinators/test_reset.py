"""Resets before every task, to the initial prior or to the posterior of the warm-up."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Problem
from shiftbench.methods.combinators import reset
from shiftbench.methods.learners import gaussian_mean

SERIES = Problem("regression", (0,), 1, 1, 3)
KEY = seeds.block([0, 1], "reset")


def batch(value: float) -> Batch:
    return Batch(np.zeros((2, 1, 0)), np.full((2, 1, 1), value), np.ones((2, 1), bool))


@pytest.mark.parametrize("to", ["scratch", "pretrained"])
def test_a_task_is_learnt_as_if_those_before_had_not_been(to):
    plain = gaussian_mean.build(gaussian_mean.Settings(), SERIES)
    learner = reset.build(reset.Settings(to=to), SERIES, plain)
    state, _ = learner.begin(learner.init(KEY), batch(3.0), KEY)
    home = plain.init(KEY)
    if to == "pretrained":
        home, _ = plain.observe(home, batch(3.0), KEY)
    for value in (-1.0, 7.0):
        state, _ = learner.observe(learner.drift(state, KEY), batch(value), KEY)
        expected, _ = plain.observe(home, batch(value), KEY)
        np.testing.assert_array_equal(state["base.mean"], expected["mean"])

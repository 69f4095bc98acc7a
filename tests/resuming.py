"""Check that a task of a network can be interrupted and resumed."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core import loop_checkpoint
from shiftbench.core.interface import Batch, Learner, State
from shiftbench.methods.lazy_tensorflow import tf


def goes_on_from_any_step(learner: Learner, before: State, batch: Batch, key: np.ndarray) -> None:
    """Assert that a task of three steps per epoch, stopped in the second, ends with equal bytes."""
    whole, _ = learner.observe(before, batch, key)
    states: loop_checkpoint.LoopStates = {}
    polls = iter([""] * 3 + ["stop"] + [""] * 99)

    def attempt() -> State:
        monitor = loop_checkpoint.LoopMonitor(
            states, lambda: None, lambda: next(polls), loop_checkpoint.PollInterval()
        )
        monitor.interval.next = lambda: 1
        with loop_checkpoint.monitored(monitor):
            return learner.observe(before, batch, key)[0]

    with pytest.raises(tf.errors.UnknownError, match="Interrupted"):
        attempt()
    assert (states[0].epoch, states[0].step) == (1, 1)
    again = attempt()
    for name, array in whole.items():
        np.testing.assert_array_equal(again[name], array)

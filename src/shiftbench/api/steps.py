"""Steps a learner through a stream of unknown length, in the order of the harness.

Drift, predict, observe: the drift is done once a task, by whoever needs it first. All randomness
is folded from the key, the seed and the number of the task, as in a run of the workflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from shiftbench.api.input_error import InputError
from shiftbench.core import seeds as seeding
from shiftbench.core.interface import Batch, Block, Info, Learner, LearnerError, Predictive, State
from shiftbench.evaluation.running.run_state import not_finite

BLOCK = 1024
"""Rows in a call of `Learner.block`, at most."""


class Steps:
    """The position of one repetition of a learner: its state, and the number of tasks done.

    seeds: [1, 2].
    """

    def __init__(self, learner: Learner, seeds: np.ndarray) -> None:
        self.learner, self.seeds, self.done = learner, seeds, 0
        self._state: State | None = learner.init(seeding.fold_each(seeds, "init"))
        self._ahead: State | None = None
        # Rows that come one by one are learnt here, and no state is made between them.
        self._open: Any = None

    @property
    def state(self) -> State:
        """The state after the last task."""
        if self._state is None:
            self._state = self.learner.block.close(self._open)  # type: ignore[union-attr]
        return self._state

    def restore(self, state: State, done: int) -> None:
        """Set the state, and the number of tasks that led to it."""
        self._state, self.done, self._ahead, self._open = state, done, None, None

    def predict(self, inputs: np.ndarray) -> Predictive:
        """Return the prediction of rows [1, n, ...] of the next task."""
        return self.learner.predict(self._drifted(), inputs, self._of_task("before"))

    def learn(self, batch: Batch) -> Info:
        """Learn the next task; return its Info. Nothing changes where it fails."""
        state, info = self.learner.observe(self._drifted(), batch, self._of_task("observe"))
        wrong = not_finite(state, {})
        if wrong.any.any():
            raise InputError(
                f"{wrong.where[0]} is not finite after task {self.done}, which is not learnt; lower"
                " the learning rate, or look at the data"
            )
        self.restore(state, self.done + 1)
        return info

    def learn_row(self, batch: Batch) -> Info:
        """Learn a row, which is a task; return its Info, with an axis of rows [1, 1, ...]."""
        block = self.learner.block
        if isinstance(block, Block):
            try:
                if self._open is None:
                    self._open = block.open(self.state)
                self._open, _, info = block.advance(self._open, batch, True)
            except (LearnerError, ArithmeticError):
                pass  # `learn` says why
            else:
                self._state, self._ahead, self.done = None, None, self.done + 1
                return info
        return {name: array[:, None] for name, array in self.learn(batch).items()}

    def learn_rows(self, batch: Batch) -> Iterator[Info]:
        """Learn n rows, each of them a task; yield the Infos, with an axis of rows [1, n, ...].

        All rows before one that fails stay learnt.
        """
        n = batch.mask.shape[1]
        if n == 1:
            yield self.learn_row(batch)
            return
        size = BLOCK if self.learner.block else 1
        for first, last in pairwise([*range(0, n, size), n]):
            yield from self._learn_block(Batch(*(array[:, first:last] for array in batch)))

    def _learn_block(self, batch: Batch) -> Iterator[Info]:
        """Learn some rows in one call, or one by one where that is not offered or fails."""
        n = batch.mask.shape[1]
        if self.learner.block:
            try:
                state, _, info = self.learner.block(self.state, batch, True)
            except (LearnerError, ArithmeticError):
                pass  # a row fails, and those before it are to be learnt
            else:
                self.restore(state, self.done + n)
                yield info
                return
        for i in range(n):
            yield self.learn_row(Batch(*(array[:, i : i + 1] for array in batch)))

    def _drifted(self) -> State:
        """Return the state at the start of the next task."""
        if self._ahead is None:
            self._ahead = self.learner.drift(self.state, self._of_task("drift"))
        return self._ahead

    def _of_task(self, purpose: str) -> np.ndarray:
        """Return the seeds of the next task for a purpose."""
        # A learner that offers blocks draws nothing after its start, and folding seeds is slow.
        if self.learner.block:
            return self.seeds
        return seeding.fold_each(self.seeds, self.done, purpose)

"""Runs of tasks of one row each, by blocks of tasks: one call of the learner for a block.

`Learner.block` predicts and learns the rows in the order of the harness, and metrics score all
predictions of a block at once. A learner's block gives what it gives task by task, so records do
not depend on where blocks begin. Where anything in a block fails, it is left to the harness, task
by task from the block's first state, so that the record says what failed.
"""

from __future__ import annotations

import logging
import time

import numpy as np

from shiftbench.core import prediction_checks
from shiftbench.core.interface import Batch, LearnerError
from shiftbench.evaluation.running.build_run import Run
from shiftbench.evaluation.running.cost import Meter
from shiftbench.evaluation.running.run_state import INFO, SCORE, Position, Records, not_finite
from shiftbench.evaluation.scoring import judging

log = logging.getLogger("shiftbench")

FIRST, LARGEST = 16, 1024
"""Number of tasks in the first block and in the largest."""
SECONDS = 0.2
"""Blocks grow until they take so long: a run looks between them whether it must stop."""
NUMBERS = 2**19
"""The most rows of a block, times the hypotheses of all arrays of the state."""


class RowBlocks:
    """Advances a run by blocks of tasks, while it can."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.can = (
            run.problem.n_train == 1
            and run.learner is not None
            and run.learner.block is not None
            and not (run.needs or run.keeps or run.looks_back or run.looks > 1)
        )
        self.size, self.single_before = FIRST, 0

    def advance(self, now: Position, meter: Meter) -> Position | None:
        """Advance by the next block; None if the next task is to be done alone."""
        t = now.next_task
        if not self.can or t < max(0, self.single_before):
            return None
        hypotheses = sum(array.shape[1] for array in now.state.values()) * len(now.failures)
        size = min(self.size, LARGEST, max(1, NUMBERS // hypotheses))
        tasks = range(t, min(t + size, self.run.problem.n_tasks))
        begun = time.monotonic()
        batch = self._batch(tasks)
        if batch is None:
            self.can = False
            return None
        after = _advance(self.run, now, batch, meter)
        if after is None:
            self.single_before = tasks.stop
        share = SECONDS / max(time.monotonic() - begun, 1e-6)
        self.size = max(1, int(self.size * min(share, 2.0)))
        return after

    def _batch(self, tasks: range) -> Batch | None:
        """Return the rows of the tasks [S, n]; None if tasks have data to be evaluated on."""
        run = self.run
        if hasattr(run.reader, "training_rows"):
            return run.reader.training_rows(run.stream, run.realisations, tasks)
        each = [run.reader.task(run.stream, run.realisations, t) for t in tasks]
        if any(task.validation or task.test for task in each):
            return None
        parts = zip(*(task.train for task in each), strict=True)
        return Batch(*(np.concatenate(part, axis=1) for part in parts))


def _advance(run: Run, now: Position, batch: Batch, meter: Meter) -> Position | None:
    """Return the position after the tasks of a batch, a row each; None if one of them failed."""
    assert run.learner is not None and run.learner.block is not None
    with meter:
        try:
            drift_first = run.spec["drift"] == "before-prediction"
            state, predictive, info = run.learner.block(now.state, batch, drift_first)
            (s, n) = shape = batch.mask.shape
            apart = Batch(*(part.reshape(s * n, 1, *part.shape[2:]) for part in batch))
            if wrong := prediction_checks.fault(predictive, apart.inputs, run.problem):
                raise LearnerError(f"a block of rows {wrong}")
            good = prediction_checks.usable(predictive)
            scores = {
                one.name: np.where(good, judging.judge(one, predictive, apart), np.nan)
                for one in run.metrics
                if one.stage == "before"
            }
            scores = {name: values.reshape(shape) for name, values in scores.items()}
        except (LearnerError, ArithmeticError) as error:
            log.info("%s: tasks from %d on one by one: %s", run.name, now.next_task, error)
            return None
    going = np.array([not reason for reason in now.failures])
    judged = {name: np.where(batch.mask, values, 0.0) for name, values in scores.items()}
    if (not_finite(state, judged).any & going).any():
        return None
    arrays = {SCORE + name: np.where(going, values.T, np.nan).T for name, values in scores.items()}
    arrays |= {INFO + name: values for name, values in info.items()}
    after = now.next_task + n
    return Position(after, state, Records(now.records, arrays), now.failures)

"""Rows of a linear regression that a learner stores, to fit all of them after each task."""

from __future__ import annotations

from shiftbench.core.interface import Batch, LearnerError, Problem, State


def design_shape(learner: str, problem: Problem) -> tuple[int, int]:
    """Return (targets d, regressors p) of designs (1, d, p); LearnerError for other inputs."""
    shape = problem.input_shape
    if problem.kind != "regression" or len(shape) != 3 or shape[:2] != (1, problem.n_outputs):
        raise LearnerError(
            f"{learner}: needs real targets and one design of shape (1, targets, regressors) for"
            f" each row, as the stream family series has; the inputs here are {shape}"
        )
    return shape[1], shape[2]


def kept(problem: Problem) -> tuple[int, int]:
    """Return how many rows are stored of a whole stream, and the numbers of a row."""
    (_, targets, regressors), rows = problem.input_shape, problem.n_train * problem.n_tasks
    return rows, targets * (regressors + 1)


def append(state: State, batch: Batch, s: int, h: int) -> tuple[int, int]:
    """Append the batch's unmasked rows to x and y of one hypothesis, in place.

    Returns the index of the first new row and the number of rows after it.
    """
    seen = batch.mask[s]
    first = int(state["count"][s, h])
    last = first + int(seen.sum())
    state["x"][s, h, first:last] = batch.inputs[s, seen, 0]
    state["y"][s, h, first:last] = batch.targets[s, seen]
    state["count"][s, h] = last
    return first, last

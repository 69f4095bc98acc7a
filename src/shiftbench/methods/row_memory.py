"""Memory of earlier tasks' rows in a state, for `joint`, `coreset` and the learner `rehearsal`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from shiftbench.core.interface import Batch, LearnerError, Problem, State
from shiftbench.core.seeds import generator

Slots = dict[int, int]
"""The slots of a memory that are filled, each with the number of a row of a batch."""


class WithSize(Protocol):
    """Settings with the number of rows that are kept of each task."""

    @property
    def size(self) -> int: ...


def empty(problem: Problem, seeds: int, capacity: int) -> State:
    """Return an empty memory: inputs [S, 1, capacity, ...], targets, and mask (False: no row)."""
    classes = problem.kind == "classification"
    targets = (seeds, 1, capacity) if classes else (seeds, 1, capacity, problem.n_outputs)
    return {
        "inputs": np.zeros((seeds, 1, capacity, *problem.row_shape), np.float32),
        "targets": np.zeros(targets, np.int64 if classes else np.float64),
        "mask": np.zeros((seeds, 1, capacity), bool),
    }


def share(size: int, rows: int) -> int:
    """Return how many of a task's rows are kept: `size`, but at most half of them."""
    return min(size, rows // 2)


def kept(size: int, problem: Problem) -> int:
    """Return how many rows of a stream are kept at its end, `share` of each task."""
    return problem.n_tasks * share(size, problem.n_train)


def numbers_of_row(problem: Problem) -> int:
    """Return how many numbers a row has: its inputs, the head among them, and its targets."""
    targets = 1 if problem.kind == "classification" else problem.n_outputs
    return math.prod(problem.row_shape) + targets


def rows_kept(settings: WithSize, problem: Problem) -> tuple[int, int]:
    """Return how many rows a component keeps of a whole stream, and the numbers of a row."""
    return kept(settings.size, problem), numbers_of_row(problem)


def random_rows(mask: np.ndarray, size: int, seeds: np.ndarray) -> list[np.ndarray]:
    """Choose `share` of each repetition's rows at random: indices into mask [S, n]."""
    filled = [np.flatnonzero(of_seed) for of_seed in mask]
    return [
        generator(seed).permutation(rows)[: share(size, len(rows))]
        for rows, seed in zip(filled, seeds, strict=True)
    ]


def slots_of_task(
    owner: str, capacity: int, chosen: Sequence[np.ndarray], task: int, size: int
) -> list[Slots]:
    """Return the slots that a task's chosen rows fill, in order; tasks are numbered from 0.

    Raises LearnerError, in the name of the owner, if the memory has no room for the task.
    """
    start = size * task
    if start + size > capacity:
        raise LearnerError(
            f"{owner}: no room for task {task + 1}; the stream says that it has"
            f" {task} tasks (a warm-up counts too)"
        )
    return [{start + i: int(row) for i, row in enumerate(rows)} for rows in chosen]


def reservoir(rows: np.ndarray, seen: int, capacity: int, seed: np.ndarray) -> Slots:
    """Return the slots of a reservoir that these rows fill, after `seen` others.

    Vitter 1985, algorithm R: of n rows so far, each is in one of the slots with probability
    capacity / n. The rows come in random order.
    """
    draws, slots = generator(seed), {}
    for n, row in enumerate(draws.permutation(rows), start=seen):
        slot = n if n < capacity else int(draws.integers(n + 1))
        if slot < capacity:
            slots[slot] = int(row)
    return slots


def filled(memory: State, batch: Batch, slots: Sequence[Slots]) -> State:
    """Return a copy of the memory with rows of the batch in slots, those of each repetition."""
    after = {name: memory[name].copy() for name in Batch._fields}
    for name, array in batch._asdict().items():
        for s, rows in enumerate(slots):
            after[name][s, 0, [*rows]] = array[s, [*rows.values()]]
    return after


def as_batch(memory: State, like: Batch) -> Batch:
    """Return the rows of a memory as a batch, with the types of another one."""
    return Batch(*(memory[name][:, 0].astype(a.dtype) for name, a in like._asdict().items()))

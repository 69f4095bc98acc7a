"""Joint training from scratch on all tasks so far: an upper bound for continual learning.

Knows: all rows of earlier tasks.

State: the learner's as base.*; the rows seen, inputs [S, 1, capacity, ...], targets, and mask,
False where nothing is written yet.
Info: the learner's, of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge

from shiftbench.core.facts import Facts
from shiftbench.core.interface import (
    Batch,
    Info,
    Learner,
    LearnerError,
    Predictive,
    Problem,
    State,
    part,
    prefixed,
)
from shiftbench.methods import row_memory

FACTS = Facts(gives=("mixed",), refuses=("counts", "word", "mixed"))


@dataclass(frozen=True)
class Settings:
    capacity: Annotated[int, Ge(0)] = 0
    """Rows of memory; 0: enough for all tasks and for a warm-up of the largest task's size."""


def work(settings, problem):
    """Return the problem inside, for a forecast: the rows of all tasks so far, on average."""
    return problem._replace(rows=problem.rows * (problem.tasks + 1) // 2)


def rows_kept(settings: Settings, problem: Problem) -> tuple[int, int]:
    """Return how many rows it keeps of a whole stream, and the numbers of a row."""
    return problem.n_train * problem.n_tasks, row_memory.numbers_of_row(problem)


def build(settings: Settings, problem: Problem, learner: Learner) -> Learner:
    """Build the learner that is refitted to the union of all tasks after each task."""
    capacity = settings.capacity or problem.n_train * (problem.n_tasks + 1)

    def init(seeds: np.ndarray) -> State:
        memory = row_memory.empty(problem, len(seeds), capacity)
        return memory | prefixed(learner.init(seeds), "base.")

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        return learner.predict(part(state, "base."), inputs, seeds)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        seen = Batch(*(_extended_memory(state, batch, name) for name in Batch._fields))
        base, info = learner.observe(learner.init(seeds), seen, seeds)
        memory = {name: array[:, None] for name, array in seen._asdict().items()}
        return memory | prefixed(base, "base."), info

    return Learner(init, predict, observe)


def _extended_memory(state: State, batch: Batch, name: str) -> np.ndarray:
    """Return a memory array [S, capacity, ...] with the batch appended; LearnerError if full."""
    memory, new = state[name][:, 0].copy(), getattr(batch, name)
    filled = np.flatnonzero(state["mask"][:, 0].any(axis=0))
    used = filled[-1] + 1 if len(filled) else 0  # a masked row between others takes room, too
    if used + new.shape[1] > memory.shape[1]:
        raise LearnerError(
            f"joint: {used + new.shape[1]} rows do not fit its memory of {memory.shape[1]}; "
            "raise its capacity, or leave it at 0"
        )
    memory[:, used : used + new.shape[1]] = new
    return memory

"""Coresets of variational continual learning: a few rows of each task are kept for predictions.

Source: Nguyen et al. 2018, Algorithm 1. From each task `size` rows are chosen, at random or as k
centres, and taken out of what the learner observes. Predictions come from a copy of the learner
that has then observed all rows of the coreset as one more task, with the posterior as its prior;
the learner itself continues without them. With several heads the public code trains one copy for
each task; here a single copy learns all rows, each under its own head. A short task gives at most
half of its rows. Knows: the coreset's rows of earlier tasks.

k centres are chosen greedily: the first row, then always the row farthest from all chosen ones
(Gonzalez 1985), by Euclidean distance of the inputs. A learner whose fits do not start from its
posterior trains the copy from scratch; `start: prior` continues from the posterior.

State: the learner's as base.*, and the copy's as tuned.*; the coreset, inputs [S, 1, size n_tasks,
...], targets, and mask, False where there is no row; tasks [S, 1], the number of tasks observed.
Info: the learner's, of the task.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge

from shiftbench.core import loop_checkpoint
from shiftbench.core.facts import Facts
from shiftbench.core.interface import (
    Batch,
    Context,
    Info,
    Learner,
    Predictive,
    Problem,
    State,
    part,
    prefixed,
)
from shiftbench.core.seeds import fold_each
from shiftbench.methods import row_memory
from shiftbench.methods.without_rows import unmoved

FACTS = Facts(
    gives=("mixed",),
    refuses=("counts", "word", "mixed", "warm-up", "one-row"),
    passes=("boundary",),
)


@dataclass(frozen=True)
class Settings:
    size: Annotated[int, Ge(0)] = 200
    """Number of rows of each task (VCL: 200 on permuted MNIST, 40 on split MNIST); 0: the learner
    as it is, to compare sizes of memory."""
    method: Literal["random", "k-center"] = "random"
    """Choice of the rows; VCL has both."""


rows_kept = row_memory.rows_kept


def build(settings: Settings, problem: Problem, learner: Learner) -> Learner:
    """Build the learner with a coreset; it raises LearnerError after the stream's last task."""
    capacity = settings.size * problem.n_tasks

    def init(seeds: np.ndarray) -> State:
        base = learner.init(seeds)
        memory = row_memory.empty(problem, len(seeds), capacity)
        tasks = np.zeros((len(seeds), 1), np.int64)
        return {"tasks": tasks, **memory} | prefixed(base, "base.") | prefixed(base, "tuned.")

    def drift(state: State, seeds: np.ndarray) -> State:
        return state | prefixed(learner.drift(part(state, "base."), seeds), "base.")

    def boundary(state: State, context: Context, seeds: np.ndarray) -> State:
        return state | prefixed(learner.boundary(part(state, "base."), context, seeds), "base.")

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        return learner.predict(part(state, "tuned."), inputs, seeds)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        chosen = _choose_rows(settings, batch, fold_each(seeds, "coreset"))
        rest = batch.mask.copy()
        for s, index in enumerate(chosen):
            rest[s, index] = False
        base, info = learner.observe(part(state, "base."), batch._replace(mask=rest), seeds)
        task, size = int(state["tasks"].max()), settings.size
        slots = row_memory.slots_of_task("coreset", capacity, chosen, task, size)
        memory = row_memory.filled(state, batch, slots)
        rows = row_memory.as_batch(memory, batch)
        tuned = _tuned_copy(learner, base, rows, fold_each(seeds, "tuned"))
        own = {"tasks": state["tasks"] + 1, **memory}
        return own | prefixed(base, "base.") | prefixed(tuned, "tuned."), info

    return Learner(init, predict, observe, drift=drift, boundary=boundary)


def k_centres(inputs: np.ndarray, size: int) -> np.ndarray:
    """Choose greedy k centres of inputs [n, d], from the first row on: indices [size <= n]."""
    squares = np.einsum("nd,nd->n", inputs, inputs)
    nearest = np.full(len(inputs), np.inf, np.float32)
    chosen = np.zeros(size, np.int64)
    for i in range(size):
        c = chosen[i] = nearest.argmax()
        # One product a centre; differences take ten times as long.
        distances = squares + squares[c] - 2 * (inputs @ inputs[c])
        nearest = np.minimum(nearest, distances)
        nearest[chosen[: i + 1]] = -np.inf
    return chosen


def _choose_rows(settings: Settings, batch: Batch, seeds: np.ndarray) -> list[np.ndarray]:
    """Return, for each seed, the indices of the rows that go to the coreset."""
    if settings.method == "random":
        return row_memory.random_rows(batch.mask, settings.size, seeds)
    filled = [np.flatnonzero(mask) for mask in batch.mask]
    return [
        rows[
            k_centres(
                inputs[rows].reshape(len(rows), -1), row_memory.share(settings.size, len(rows))
            )
        ]
        for inputs, rows in zip(batch.inputs, filled, strict=True)
    ]


def _tuned_copy(learner: Learner, base: State, rows: Batch, seeds: np.ndarray) -> State:
    """Return the copy for predictions: the learner after the coreset, if that has any rows."""
    if not rows.mask.any():
        return base
    with loop_checkpoint.whole():
        return unmoved(learner).observe(base, rows, seeds)[0]

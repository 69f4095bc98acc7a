"""A few rows of each task set apart: the last word before a prediction (VCL's coresets).

From each task `size` rows are chosen, at random or as k centres, and taken out of what the
learner observes. Predictions come from a copy of the learner that has then observed all rows
set apart so far, as one more task with the posterior as its prior; the learner itself goes on
without them (Nguyen et al. 2018, Algorithm 1). The public code trains one such copy for each
task where a task has a head of its own; here one copy learns all rows with either protocol,
each under the head that it tells. A short task gives at most half of its rows.

k centres are chosen greedily: the first row, then always the row farthest from all chosen
(Gonzalez 1985), by Euclidean distance of the inputs. A learner that does not start from its
posterior (`start: prior`) begins the copy anew; to train further, let it.

State: those of the learner as base.*, and of the copy as tuned.*; the rows set apart, inputs
[S, 1, size n_tasks, ...], targets, and mask, False where there are none; tasks [S, 1], how
many were observed. Info: the learner's, of the task.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge

from shiftbench.core.interface import (
    Batch,
    Context,
    Info,
    Learner,
    LearnerError,
    Predictive,
    Problem,
    State,
    part,
    prefixed,
)
from shiftbench.core.seeds import fold_each, generator
from shiftbench.methods.combinators import _memory

NEEDS: tuple[str, ...] = ()
HAS = ("mixed",)
REFUSES = ("counts", "word", "mixed", "warm-up", "one-row")
PASSES = ("boundary",)


@dataclass(frozen=True)
class Settings:
    size: Annotated[int, Ge(1)] = 200
    """Rows of each task (VCL: 200 on permuted MNIST, 40 on split MNIST)."""
    method: Literal["random", "k-center"] = "random"
    """How rows are chosen; VCL has both."""


def build(settings: Settings, problem: Problem, learner: Learner) -> Learner:
    """The learner with a memory; LearnerError for more tasks than the stream has."""
    capacity = settings.size * problem.n_tasks

    def init(seeds: np.ndarray) -> State:
        base = learner.init(seeds)
        memory = _memory.empty(problem, len(seeds), capacity)
        tasks = np.zeros((len(seeds), 1), np.int64)
        return {"tasks": tasks, **memory} | prefixed(base, "base.") | prefixed(base, "tuned.")

    def drift(state: State, seeds: np.ndarray) -> State:
        return state | prefixed(learner.drift(part(state, "base."), seeds), "base.")

    def boundary(state: State, context: Context, seeds: np.ndarray) -> State:
        return state | prefixed(learner.boundary(part(state, "base."), context, seeds), "base.")

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        return learner.predict(part(state, "tuned."), inputs, seeds)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        chosen = _chosen(settings, batch, fold_each(seeds, "coreset"))
        rest = batch.mask.copy()
        for s, index in enumerate(chosen):
            rest[s, index] = False
        base, info = learner.observe(part(state, "base."), batch._replace(mask=rest), seeds)
        memory = _written(settings, state, batch, chosen)
        kept = Batch(*(memory[k][:, 0].astype(a.dtype) for k, a in batch._asdict().items()))
        tuned = _tuned(learner, base, kept, fold_each(seeds, "tuned"))
        known = {"tasks": state["tasks"] + 1, **memory}
        return known | prefixed(base, "base.") | prefixed(tuned, "tuned."), info

    return Learner(init, predict, observe, drift=drift, boundary=boundary)


def k_centres(inputs: np.ndarray, size: int) -> np.ndarray:
    """Indices [size] of greedy k centres of inputs [n, d], size <= n, from the first row on."""
    squares = np.einsum("nd,nd->n", inputs, inputs)
    nearest = np.full(len(inputs), np.inf, np.float32)
    chosen = np.zeros(size, np.int64)
    for i in range(size):
        c = chosen[i] = nearest.argmax()
        # One product a centre: differences would take ten times as long.
        distances = squares + squares[c] - 2 * (inputs @ inputs[c])
        nearest = np.minimum(nearest, distances)
        nearest[chosen[: i + 1]] = -np.inf
    return chosen


def _chosen(settings: Settings, batch: Batch, seeds: np.ndarray) -> list[np.ndarray]:
    """Indices of the rows that each seed sets apart."""
    chosen = []
    for inputs, mask, seed in zip(batch.inputs, batch.mask, seeds, strict=True):
        rows = np.flatnonzero(mask)
        size = min(settings.size, len(rows) // 2)
        if settings.method == "random":
            chosen.append(generator(seed).permutation(rows)[:size])
        else:
            chosen.append(rows[k_centres(inputs[rows].reshape(len(rows), -1), size)])
    return chosen


def _written(
    settings: Settings, state: State, batch: Batch, chosen: list[np.ndarray]
) -> dict[str, np.ndarray]:
    """The memory with the chosen rows in the place of this task."""
    memory = {name: state[name].copy() for name in Batch._fields}
    start = settings.size * int(state["tasks"].max())
    if start + settings.size > memory["mask"].shape[2]:
        raise LearnerError(
            f"coreset: no room for task {start // settings.size + 1}; the stream says that it has"
            f" {start // settings.size} tasks (a warm-up counts too)"
        )
    for name, array in batch._asdict().items():
        for s, index in enumerate(chosen):
            memory[name][s, 0, start : start + len(index)] = array[s, index]
    return memory


def _tuned(learner: Learner, base: State, kept: Batch, seeds: np.ndarray) -> State:
    """The copy for predictions; where nothing was set apart, the learner as it is."""
    some = np.any(kept.mask, axis=1)
    if not some.any():
        return base
    tuned, _ = learner.observe(base, kept, seeds)
    return {k: np.where(_beside(some, a), a, base[k]) for k, a in tuned.items()}


def _beside(flags: np.ndarray, array: np.ndarray) -> np.ndarray:
    """Flags [S] made to broadcast against an array [S, ...]."""
    return flags.reshape(-1, *[1] * (array.ndim - 1))

"""Gradients of run lengths' log joints in hyperparameters of the learner inside.

With D_t(r) = d log p(y_1:t, r_t = r) / d theta and dl the derivative of the log evidence,

    D_t(r + 1) = D_{t-1}(r) + dl,    D_t(0) = dl + sum_r w(r) D_{t-1}(r),

where w are the weights before the observation (knoblauch2018robust, section 4, differentiates Eq.
2; this is its stable logarithmic form). A constant may be subtracted from all D: `centred`
subtracts the weighted mean after every row, so that a new segment starts with D = 0, as `init`
does, and `run_length` can carry D like any array of its learner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from shiftbench.core.interface import (
    Batch,
    Info,
    Learner,
    Predictive,
    Problem,
    State,
    part,
)
from shiftbench.methods.combinators import run_length

ObserveWithGradient = Callable[[State, Batch], tuple[State, np.ndarray, np.ndarray]]
"""(state of the learner, row) -> state, log evidence [S, H], its gradient [S, H, J]."""


def run_length_with_gradients(
    settings: run_length.Settings,
    problem: Problem,
    learner: Learner,
    observe_with_gradient: ObserveWithGradient,
    size: int,
) -> Learner:
    """Build `run_length` over a learner that also carries D, as base.slope [S, K, size]."""

    def init(seeds: np.ndarray) -> State:
        base = learner.init(seeds)
        return base | {"slope": np.zeros((*next(iter(base.values())).shape[:2], size))}

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        return learner.predict(_without_gradients(state), inputs, seeds)

    def observe(state: State, row: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        base, evidence, gradient = observe_with_gradient(_without_gradients(state), row)
        return base | {"slope": state["slope"] + gradient}, {"log_evidence": evidence}

    return run_length.build(settings, problem, Learner(init, predict, observe))


def rows_of_task(batch: Batch) -> Iterator[tuple[Batch, np.ndarray]]:
    """Yield each row, and where it is padding [S, 1]: a masked row of a task with others.

    In a task without rows, the first one stands for the task.
    """
    has_rows = batch.mask.any(axis=1, keepdims=True)
    for i in range(batch.mask.shape[1]):
        row = Batch(*(array[:, i : i + 1] for array in batch))
        yield row, ~row.mask & (has_rows | (i > 0))


def observe_row(
    learner: Learner, state: State, row: Batch, padding: np.ndarray, seeds: np.ndarray
) -> tuple[State, Info]:
    """Update run lengths with a row, where padding [S, 1] is no time."""
    after, info = learner.observe(state, row, seeds)
    length = after["run_length"] - (padding & (after["log_joint"] > -np.inf))
    return after | {"run_length": length}, info | {"run_length": length}


def with_fresh_slots(learner: Learner, state: State, keep: int, seeds: np.ndarray) -> State:
    """Return the run lengths' state with its fresh slots, which `drift` appends if they lack."""
    return state if state["log_joint"].shape[1] > keep else learner.drift(state, seeds)


def centred(state: State, info: Info, seen: np.ndarray) -> tuple[State, np.ndarray]:
    """Subtract the weighted mean [S, J] from D after a row; return the state and the mean.

    seen: [S, 1], False where the row was masked; nothing changes there.
    """
    _, gradients = split_slots(state)
    # Before the first row there are no weights.
    mean = np.where(seen, np.einsum("sk,skj->sj", np.exp(info["log_weight"]), gradients), 0.0)
    return state | {"base.slope": gradients - mean[:, None]}, mean


def split_slots(state: State) -> tuple[State, np.ndarray]:
    """Return the learner's state [S, K, ...] and D [S, K, size] of the run lengths' slots."""
    base = part(state, "base.")
    return _without_gradients(base), base["slope"]


def _without_gradients(state: State) -> State:
    """Return the learner's own arrays of a slot state."""
    return {name: array for name, array in state.items() if name != "slope"}

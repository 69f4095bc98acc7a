"""The derivative of each run length's log joint, carried along with its learner.

With D_t(r) = d log p(y_1:t, r_t = r) / d theta and dl the derivative of the log evidence,

    D_t(r + 1) = D_{t-1}(r) + dl,    D_t(0) = dl + sum_r w(r) D_{t-1}(r),

w the weights before the observation (knoblauch2018robust, section 4, differentiates Eq. 2; this is
the logarithmic form, which is stable). A constant may be taken off all D: `centred` takes off the
weighted mean after every row, so that a new segment starts with D = 0, as `init` has it, and
`run_length` carries D like any array of its learner.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shiftbench.core.interface import (
    Batch,
    Info,
    Learner,
    Predictive,
    Problem,
    State,
    part,
    prefixed,
)
from shiftbench.methods.combinators import run_length

Scored = Callable[[State, Batch], tuple[State, np.ndarray, np.ndarray]]
"""(state of the learner, row) -> state, log evidence [S, H], its derivative [S, H, J]."""


def filtered(
    settings: run_length.Settings, problem: Problem, learner: Learner, scored: Scored, size: int
) -> Learner:
    """`run_length` over the learner with `scored` to observe, and D as base.slope [S, K, size]."""

    def init(seeds: np.ndarray) -> State:
        base = learner.init(seeds)
        return base | {"slope": np.zeros((*next(iter(base.values())).shape[:2], size))}

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        return learner.predict(_without(state), inputs, seeds)

    def observe(state: State, row: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        base, evidence, change = scored(_without(state), row)
        return base | {"slope": state["slope"] + change}, {"log_evidence": evidence}

    return run_length.build(settings, problem, Learner(init, predict, observe))


def drifted(learner: Learner, state: State, keep: int, seeds: np.ndarray) -> State:
    """The state of `filtered` with the fresh slots, which it may have already."""
    return state if state["log_joint"].shape[1] > keep else learner.drift(state, seeds)


def centred(state: State, info: Info, seen: np.ndarray) -> tuple[State, np.ndarray]:
    """The state of `filtered` after a row with the weighted mean of D at zero; the mean [S, J].

    seen: [S, 1], False where the row was masked; nothing changes there.
    """
    _, slope = of_slots(state)
    # Before the first row there are no weights.
    mean = np.where(seen, np.einsum("sk,skj->sj", np.exp(info["log_weight"]), slope), 0.0)
    return state | {"base.slope": slope - mean[:, None]}, mean


def of_slots(state: State) -> tuple[State, np.ndarray]:
    """What `filtered` has in its slots: the learner's state [S, K, ...], and D [S, K, size]."""
    base = part(state, "base.")
    return _without(base), base["slope"]


def with_slots(state: State, base: State) -> State:
    """The state of `filtered` with another state of the learner in its slots."""
    return state | prefixed(base, "base.")


def clipped(change: np.ndarray, largest: float) -> np.ndarray:
    """A step of gradient descent, not longer than `largest`."""
    return np.clip(change, -largest, largest)


def _without(state: State) -> State:
    return {name: array for name, array in state.items() if name != "slope"}

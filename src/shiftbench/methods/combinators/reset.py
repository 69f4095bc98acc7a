"""Reset before every task: the independent baselines of li2021vbs, Table 1.

`pretrained` goes back to the posterior after the warm-up (on untransformed data, as the authors'
code). `scratch` goes back to the initial prior (as the paper's text implies) and learns nothing
from a warm-up. Knows: nothing about earlier tasks.

State: the learner's as base.*; home.*, the state to go back to.
Info: the learner's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from shiftbench.core.facts import Facts
from shiftbench.core.interface import (
    Batch,
    Block,
    Info,
    Learner,
    Predictive,
    Problem,
    State,
    part,
    prefixed,
)
from shiftbench.methods.online import rows
from shiftbench.methods.online.rows import CompiledRows, Predicted

FACTS = Facts(
    offers=("scratch",),
    requires={"warm-up": {"to": ("pretrained",)}},
    refuses=("counts",),
    passes=("mean",),
    warms={"inside": {"to": ("pretrained",)}},
)

_Packed = tuple[np.ndarray, np.ndarray, State]
"""Packed state of the learner [S, H, P], the packed state that a reset restores, and its State."""


@dataclass(frozen=True)
class Settings:
    to: Literal["scratch", "pretrained"] = "scratch"
    """State at the start of each task: the initial prior, or the posterior of the warm-up."""


def build(settings: Settings, problem: Problem, learner: Learner) -> Learner:
    """Build the learner that starts each task from the same state."""

    def init(seeds: np.ndarray) -> State:
        home = learner.init(seeds)
        return _pack(home, home)

    def drift(state: State, seeds: np.ndarray) -> State:
        home = part(state, "home.")
        return _pack(learner.drift(home, seeds), home)

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        return learner.predict(part(state, "base."), inputs, seeds)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        base, info = learner.observe(part(state, "base."), batch, seeds)
        return _pack(base, part(state, "home.")), info

    def warm_up(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        if settings.to == "scratch":
            return state, {}
        base, info = learner.begin(part(state, "home."), batch, seeds)
        return _pack(base, base), info

    compiled = rows.compiled_of(learner)
    block = _block(compiled) if compiled else None
    return Learner(init, predict, observe, drift=drift, warm_up=warm_up, block=block)


def _block(compiled: CompiledRows) -> Block:
    """Return the function that learns rows which are tasks; see `Learner.block`."""

    def opened(state: State) -> _Packed:
        base, home = part(state, "base."), part(state, "home.")
        return compiled.pack(base), compiled.pack(home), home

    def advance(own: _Packed, batch: Batch, drift_first: bool) -> tuple[_Packed, Predicted, Info]:
        packed, back, home = own
        drift = rows.Drift(home=back)
        packed, predicted, info = rows.run(compiled, packed, batch, drift_first, drift)
        return (packed, back, home), predicted, info

    def close(own: _Packed) -> State:
        return _pack(compiled.unpack(own[0]), own[2])

    return Block(opened, advance, close)


def _pack(base: State, home: State) -> State:
    """Put the learner's state and the state to go back to into one state."""
    return prefixed(base, "base.") | prefixed(home, "home.")

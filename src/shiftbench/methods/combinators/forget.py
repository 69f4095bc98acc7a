"""Broaden before every task: forgetting at a constant rate, without a decision.

What a `beam` does where every task is a shift, in one hypothesis and without its evidence:
the diffusion baselines of li2021vbs (4.3 and the "always broadened" ones), and exponential
forgetting (Kulhavy and Zarrop 1993) with broadening geometric. Needs a learner with `broaden`.

State and Info: those of the learner, and step [S, 1]. The first task, after a warm-up or without
one, finds the prior as it is: there is nothing to forget.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Le

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
from shiftbench.methods.combinators._broadening import widening

NEEDS: tuple[str, ...] = ()
REFUSES = ("counts",)
INSIDE = ("broaden",)
PASSES = ("level", "mean", "log_evidence")
HAS = {"diffusion": {"broadening": ("diffuse",)}}
WARMS = "inside"


@dataclass(frozen=True)
class Settings:
    broadening: Literal["temper", "temper-prior", "geometric", "diffuse"] = "temper"
    """How the posterior is widened: q^beta; q^beta p0 or q^beta p0^(1 - beta), with p0 the initial
    prior; or q convolved with N(0, variance)."""
    beta: Annotated[float, Gt(0), Le(1)] = 0.6666666666666666
    """Exponent of the tempering; the share of precision that is kept."""
    variance: Annotated[float, Ge(0)] = 1.0
    """Variance D that `diffuse` adds."""


def build(settings: Settings, problem: Problem, learner: Learner) -> Learner:
    """The learner with its posterior widened before every task but the first."""
    widen = widening("forget", settings, learner)

    def init(seeds: np.ndarray) -> State:
        return _pack(learner.init(seeds), np.zeros((len(seeds), 1), np.int64))

    def drift(state: State, seeds: np.ndarray) -> State:
        base = learner.drift(part(state, "base."), seeds)
        return _pack(widen(base) if state["step"].max() > 0 else base, state["step"])

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        return learner.predict(part(state, "base."), inputs, seeds)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        base, info = learner.observe(part(state, "base."), batch, seeds)
        return _pack(base, state["step"] + 1), info

    def warm_up(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        base, info = learner.begin(part(state, "base."), batch, seeds)
        return _pack(base, state["step"]), info

    return Learner(init, predict, observe, drift=drift, warm_up=warm_up)


def _pack(base: State, step: np.ndarray) -> State:
    return {"step": step} | prefixed(base, "base.")

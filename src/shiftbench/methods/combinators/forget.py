"""Forgetting at a constant rate: the posterior is broadened before every task, without a decision.

With broadening `temper` and the posterior q of the task before, a task is learnt from

    q(w)^beta / constant,  0 < beta <= 1.

A `beam` that takes every task for a shift, with one hypothesis and without its evidence. Source:
the diffusion baselines of li2021vbs (4.3 and the "always broadened" ones); with broadening
geometric, exponential forgetting (Kulhavy and Zarrop 1993). Needs a learner with `broaden`. Knows:
the rate of forgetting.

The first task, with or without a warm-up before it, has the prior as it is.

State and Info: the learner's, and step [S, 1].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Le

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
from shiftbench.methods.combinators import _broadening
from shiftbench.methods.online import rows
from shiftbench.methods.online.rows import CompiledRows, Predicted

FACTS = Facts(
    gives={"diffusion": {"broadening": ("diffuse",)}},
    refuses=("counts",),
    from_learner=("broaden",),
    passes=("level", "mean", "log_evidence"),
    warms="inside",
)

_Packed = tuple[np.ndarray, np.ndarray]
"""Packed state of the learner [S, H, P], and step [S, 1]."""


@dataclass(frozen=True)
class Settings:
    broadening: Literal["temper", "temper-prior", "geometric", "diffuse", "ou"] = "temper"
    """Broadening. temper: q^beta; temper-prior: q^beta p0; geometric: q^beta p0^(1 - beta), with p0
    the initial prior; diffuse: q convolved with N(0, variance); ou: an Ornstein-Uhlenbeck step to
    the mean beta m + (1 - beta) m0, covariance beta^2 V + (1 - beta^2) V0."""
    beta: Annotated[float, Gt(0), Le(1)] = 0.6666666666666666
    """Exponent of q: the share of its precision that is kept (1 forgets nothing); ou: factor that
    multiplies the mean."""
    variance: Annotated[float, Ge(0)] = 1.0
    """diffuse: variance D that is added."""


def build(settings: Settings, problem: Problem, learner: Learner) -> Learner:
    """Build the learner that is broadened before every task but the first.

    Raises LearnerError if it cannot be broadened.
    """
    broaden = _broadening.broadening_of("forget", settings, learner)

    def init(seeds: np.ndarray) -> State:
        return _pack(learner.init(seeds), np.zeros((len(seeds), 1), np.int64))

    def drift(state: State, seeds: np.ndarray) -> State:
        base = learner.drift(part(state, "base."), seeds)
        return _pack(broaden(base) if state["step"].max() > 0 else base, state["step"])

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        return learner.predict(part(state, "base."), inputs, seeds)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        base, info = learner.observe(part(state, "base."), batch, seeds)
        return _pack(base, state["step"] + 1), info

    def warm_up(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        base, info = learner.begin(part(state, "base."), batch, seeds)
        return _pack(base, state["step"]), info

    compiled = rows.compiled_of(learner)
    block = _block(settings, compiled) if compiled else None
    return Learner(init, predict, observe, drift=drift, warm_up=warm_up, block=block)


def _block(settings: Settings, compiled: CompiledRows) -> Block:
    """Return the function that learns rows which are tasks; see `Learner.block`."""
    widening = rows.widening(_broadening.broadening(settings))

    def opened(state: State) -> _Packed:
        return compiled.pack(part(state, "base.")), state["step"]

    def advance(own: _Packed, batch: Batch, drift_first: bool) -> tuple[_Packed, Predicted, Info]:
        packed, step = own
        drift = rows.Drift(widening, done=int(step.max()))
        packed, predicted, info = rows.run(compiled, packed, batch, drift_first, drift)
        return (packed, step + batch.mask.shape[1]), predicted, info

    def close(own: _Packed) -> State:
        return _pack(compiled.unpack(own[0]), own[1])

    return Block(opened, advance, close)


def _pack(base: State, step: np.ndarray) -> State:
    """Put the step count and the learner's state into one state."""
    return {"step": step} | prefixed(base, "base.")

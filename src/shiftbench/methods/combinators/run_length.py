"""Bayesian online changepoint detection (BOCPD) over any learner with a log evidence.

Every slot is a history of the current segment: its run length r (0 if the last observation is the
first of its segment), and a learner that has seen only this segment. Before an observation every
segment may end: fresh learners, one for each model of the learner, share the hazard's mass, and the
other segments continue. All are weighed by the evidence of the observation, and the `keep` largest
stay. An observation is a row for learners that are compiled row by row, and a task for all others.
A task without rows is none: it adds 1 to the run lengths, and leaves the rest as it is.

Source: knoblauch2018robust, section 2 (Eq. 2), in logarithms. With l the log evidence of a row,

    J_t(0, m) = l + log q(m) + log h + logsumexp J_{t-1},
    J_t(r + 1, m) = l + log(1 - h) + J_{t-1}(r, m).

The largest joint probability of any segmentation (P. Fearnhead and Z. Liu, 2007) follows the same
recursion with a maximum instead of the sum. In the paper's robust version the learner's log
evidence is a beta-divergence score instead of the log density. Adding a constant to all log joints
changes nothing, so the factor 1 - h of continued segments is left out, and h becomes h / (1 - h).
Knows: the hazard.

State: the learner's as base.*, [S, K, ...], and as home.* the start of segments, if that is the
posterior of the warm-up; run_length, model, log_joint, map_log_joint [S, K], -inf in empty slots.
`drift` appends the fresh slots, with run length -1, and leaves the others unchanged.
Info, [S, K], slots sorted by weight: run_length, model, log_weight (normalised), map_log_joint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Interval

from shiftbench.core.facts import Facts
from shiftbench.core.interface import (
    Batch,
    Info,
    Learner,
    LearnerError,
    Predictive,
    Problem,
    State,
    mapped,
    part,
    prefixed,
)
from shiftbench.methods.combinators import _run_length_rows
from shiftbench.methods.combinators._run_length_rows import Singly
from shiftbench.methods.combinators._run_length_rule import (
    OWN,
    fresh_segments,
    log_weights,
    log_weights_of_predictions,
    settled,
)
from shiftbench.methods.online import rows
from shiftbench.methods.online.rows import RowLearner
from shiftbench.methods.state_parts import take, where

FACTS = Facts(
    offers=("changes", "run_length"),
    requires={"warm-up": {"start": ("pretrained",)}},
    refuses=("counts", "mixed"),
    from_learner=("log_evidence",),
    warms={"inside": {"start": ("pretrained",)}},
)


@dataclass(frozen=True)
class Settings:
    hazard: Annotated[float, Interval(gt=0, lt=1)] = 0.01
    """Probability that a segment ends before an observation (paper, well-log: 1/100)."""
    keep: Annotated[int, Ge(1)] = 50
    """Number K of (run length, model) pairs that are kept (paper: 50 on the well-log, 200 in Fig.
    1B, 75 on air pollution)."""
    start: Literal["scratch", "pretrained"] = "scratch"
    """Start of a segment: the initial prior, or the posterior of the warm-up, which then is not a
    segment itself."""


def work(settings, problem):
    """Return the problem inside, for a forecast: that of each run length that is kept."""
    return problem.repeated(min(settings["keep"], max(problem.tasks, 1)))


def build(settings: Settings, problem: Problem, learner: Learner) -> Learner:
    """Build run lengths over a learner whose Info has log_evidence."""
    odds, keep = _odds(settings), settings.keep

    def init(seeds: np.ndarray) -> State:
        size, home = (len(seeds), keep), learner.init(seeds)
        base = mapped(lambda a: np.repeat(a[:, :1], keep, axis=1), home)
        stored = prefixed(home, "home.") if settings.start == "pretrained" else {}
        return (
            stored
            | prefixed(base, "base.")
            | {
                "run_length": np.zeros(size, np.int64),
                "model": np.zeros(size, np.int64),
                "log_joint": np.full(size, -np.inf),
                "map_log_joint": np.full(size, -np.inf),
            }
        )

    def drift(state: State, seeds: np.ndarray) -> State:
        """Append a fresh slot for each model."""
        base = learner.drift(part(state, "base."), seeds)
        home = part(state, "home.") or learner.init(seeds)
        models = next(iter(home.values())).shape[1]
        own = fresh_segments(state["map_log_joint"], models, odds)
        fresh = prefixed(home, "base.") | dict(zip(OWN, own, strict=True))
        slots = prefixed(base, "base.") | {name: state[name] for name in OWN}
        slots = {name: np.concatenate([slots[name], fresh[name]], axis=1) for name in slots}
        return _home(state) | slots

    def warm_up(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        if settings.start == "scratch":
            return observe(state, batch, seeds)
        home, info = learner.begin(part(state, "home."), batch, seeds)
        return state | prefixed(home, "home."), info

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        predictive = learner.predict(part(state, "base."), inputs, seeds)
        return predictive._replace(log_weights=log_weights_of_predictions(state["log_joint"]))

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        state = state if _has_fresh_slots(state, keep) else drift(state, seeds)
        # A task of one row is a row, so that it is learnt as in a block.
        single = compiled is not None and batch.mask.shape[1] == 1
        if isinstance(learner, RowLearner) and (learner.by_row or single):
            home = part(state, "home.") or learner.init(seeds)
            slots = _run_length_rows.observe(learner.rows, state, home, batch, keep, odds)
        else:
            slots = _observe_task(learner, state, batch, seeds, keep)
        # A task without rows is time, but nothing has been observed.
        passed = ~batch.mask.any(axis=1, keepdims=True) & (slots["log_joint"] > -np.inf)
        slots["run_length"] = slots["run_length"] + passed
        state = _home(state) | slots
        info = {name: state[name] for name in ("run_length", "model", "map_log_joint")}
        return state, info | {"log_weight": log_weights(state["log_joint"])}

    compiled = rows.compiled_of(learner)
    block = _run_length_rows.block(compiled, learner.init, keep, odds) if compiled else None
    return Learner(init, predict, observe, drift=drift, warm_up=warm_up, block=block)


def singly(settings: Settings, learner: RowLearner, state: State) -> Singly:
    """Return run lengths over a learner for rows that come one by one, from a state [1, K, ...]."""
    home = part(state, "home.") or learner.init(np.zeros((1, 2), np.int32))
    return Singly(learner.rows, state, home, settings.keep, _odds(settings))


def _odds(settings: Settings) -> float:
    """Return the log odds of a new segment."""
    return float(np.log(settings.hazard) - np.log1p(-settings.hazard))


def _has_fresh_slots(state: State, keep: int) -> bool:
    """Return whether the state has its fresh slots."""
    return state["log_joint"].shape[1] > keep


def _home(state: State) -> State:
    """Return the stored start of segments, home.*; empty if that is the initial prior."""
    return {name: array for name, array in state.items() if name.startswith("home.")}


def _observe_task(
    learner: Learner, state: State, batch: Batch, seeds: np.ndarray, keep: int
) -> State:
    """Update all slots, fresh ones included, with a task as one observation."""
    base, info = learner.observe(part(state, "base."), batch, seeds)
    if "log_evidence" not in info:
        raise LearnerError(
            "run-length: the learner inside gives no log evidence to weigh run lengths with; use"
            " one that does, such as gaussian-mean or bayes-linear"
        )
    evidence = info["log_evidence"]
    joints = state["log_joint"] + evidence, state["map_log_joint"] + evidence
    joint, best, kept = settled(*joints, keep)
    after = prefixed(base, "base.") | {
        "run_length": state["run_length"] + 1,
        "model": state["model"],
    }
    after = mapped(lambda a: take(a, kept), after)
    after |= {"log_joint": joint, "map_log_joint": best}
    seen = np.asarray(batch.mask.any(axis=1))
    return where(seen, after, mapped(lambda a: a[:, :keep], state))

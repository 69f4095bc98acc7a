"""Bayesian on-line changepoint detection (BOCPD) over any learner with a log evidence.

Every slot is a history of the current segment: its run length r (0 if the last observation is the
first of its segment), and a learner that has seen only this segment. Before an observation every
segment may end: fresh learners, one for each model of the learner, share the hazard's mass, and the
other segments continue. All are weighed by the evidence of the observation, and the `keep` largest
stay. An observation is a row for learners that are compiled row by row, and a task for all others.

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

import math
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Interval
from numba import njit
from scipy.special import logsumexp

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
from shiftbench.methods.online.rows import RowLearner

FACTS = Facts(
    offers=("changes", "run_length"),
    requires={"warm-up": {"start": ("pretrained",)}},
    refuses=("counts", "mixed"),
    from_learner=("log_evidence",),
    warms={"inside": {"start": ("pretrained",)}},
)

OWN = ("run_length", "model", "log_joint", "map_log_joint")
"""Arrays of the state that are not the learner's."""


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
    odds, keep = np.log(settings.hazard) - np.log1p(-settings.hazard), settings.keep

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
        fresh = prefixed(home, "base.") | _fresh_segments(state, home, odds)
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
        return predictive._replace(log_weights=_normalised(state["log_joint"]))

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        state = state if _has_fresh_slots(state, keep) else drift(state, seeds)
        if isinstance(learner, RowLearner):
            slots = _observe_rows(learner, state, batch, seeds, keep, odds)
        else:
            slots = _observe_task(learner, state, batch, seeds, keep)
        state = _home(state) | slots
        info = {name: state[name] for name in ("run_length", "model", "map_log_joint")}
        return state, info | {"log_weight": _normalised(state["log_joint"])}

    return Learner(init, predict, observe, drift=drift, warm_up=warm_up)


def _has_fresh_slots(state: State, keep: int) -> bool:
    """Return whether the state has its fresh slots."""
    return state["log_joint"].shape[1] > keep


def _home(state: State) -> State:
    """Return the stored start of segments, home.*; empty if that is the initial prior."""
    return {name: array for name, array in state.items() if name.startswith("home.")}


def _fresh_segments(state: State, home: State, odds: float) -> State:
    """Return the arrays OWN of fresh slots [S, M], one for each model of the start, home."""
    seeds, models = next(iter(home.values())).shape[:2]
    with np.errstate(invalid="ignore"):  # before the first observation there is no history
        total = logsumexp(state["log_joint"], axis=1, keepdims=True)
    best = state["map_log_joint"].max(axis=1, keepdims=True)
    first = np.isneginf(total)
    size = seeds, models
    return {
        "run_length": np.full(size, -1),
        "model": np.tile(np.arange(models), (seeds, 1)),
        "log_joint": np.where(first, 0.0, total + odds) - np.full(size, np.log(models)),
        "map_log_joint": np.where(first, 0.0, best + odds) - np.full(size, np.log(models)),
    }


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
    joint, best = (state[name] + info["log_evidence"] for name in ("log_joint", "map_log_joint"))
    kept = np.argsort(-joint, axis=1, kind="stable")[:, :keep]
    total = logsumexp(np.take_along_axis(joint, kept, axis=1), axis=1, keepdims=True)
    after = prefixed(base, "base.") | {
        "run_length": state["run_length"] + 1,
        "model": state["model"],
        "log_joint": joint - total,
        "map_log_joint": best - total,
    }
    after = mapped(lambda a: a[np.arange(len(a))[:, None], kept], after)
    seen = batch.mask.any(axis=1)
    return {
        name: np.where(seen.reshape(-1, *(1,) * (a.ndim - 1)), a, state[name][:, :keep])
        for name, a in after.items()
    }


def _observe_rows(
    learner: RowLearner, state: State, batch: Batch, seeds: np.ndarray, keep: int, odds: float
) -> State:
    """Update all slots, fresh ones included, with each row as an observation."""
    rows, (x, y) = learner.rows, learner.rows.check(batch)
    own = (state[name].copy() for name in OWN)
    slots = _Slots(rows.pack(part(state, "base.")), *own)
    fresh = rows.pack(part(state, "home.") or learner.init(seeds))
    data = _Rows(x, y, np.require(batch.mask, bool, ["C", "W"]))
    order = np.empty((len(y), keep), np.int64)
    scratch = np.empty(rows.scratch)
    _filter_rows(rows.step, rows.constants, scratch, data, fresh, odds, slots, order)
    kept = np.arange(len(y))[:, None], order
    arrays = {name: array[kept] for name, array in slots._asdict().items()}
    return prefixed(rows.unpack(arrays.pop("packed")), "base.") | arrays


class _Rows(NamedTuple):
    """Inputs [S, n, flat], targets [S, n, d] and mask [S, n] for compiled code."""

    x: np.ndarray
    y: np.ndarray
    seen: np.ndarray


class _Slots(NamedTuple):
    """Slots [S, K + M, ...] for compiled code, or those of one repetition; changed in place."""

    packed: np.ndarray
    run_length: np.ndarray
    model: np.ndarray
    log_joint: np.ndarray
    map_log_joint: np.ndarray


@njit(cache=True, error_model="numpy")
def _filter_rows(step, constants, scratch, data, fresh, odds, slots, order):
    """Run the recursion over all rows, in place; order becomes the kept slots, best first."""
    keep, size = order.shape[1], slots.log_joint.shape[1]
    evidence = np.empty(size)
    for s in range(data.y.shape[0]):
        packed, length, joint = slots.packed[s], slots.run_length[s], slots.log_joint[s]
        own = _Slots(packed, length, slots.model[s], joint, slots.map_log_joint[s])
        started = False
        for i in range(data.y.shape[1]):
            if not data.seen[s, i]:
                continue
            if started:
                _start_segments(fresh[s], odds, own)
            started = True
            for k in range(size):
                evidence[k] = 0.0 if joint[k] > -np.inf else -np.inf
            step(packed, data.x[s, i], data.y[s, i], constants, scratch, evidence)
            for k in range(size):
                joint[k] += evidence[k]
                own.map_log_joint[k] += evidence[k]
                length[k] += 1
            _prune(keep, joint, own.map_log_joint)
            _normalise(joint, own.map_log_joint)
        if started:
            order[s] = np.argsort(-joint, kind="mergesort")[:keep]
        else:
            order[s] = np.arange(keep)


@njit(cache=True, error_model="numpy")
def _start_segments(fresh, odds, slots):
    """Put a fresh learner of each model into empty slots, in place; the joints sum to 1."""
    joint, best = slots.log_joint, slots.map_log_joint
    share, top = odds - math.log(len(fresh)), -np.inf
    for k in range(len(best)):
        top = max(top, best[k])
    k = 0
    for m in range(len(fresh)):
        while joint[k] > -np.inf:
            k += 1
        for j in range(fresh.shape[1]):
            slots.packed[k, j] = fresh[m, j]
        slots.run_length[k], slots.model[k] = -1, m
        joint[k], best[k] = share, top + share
        k += 1


@njit(cache=True, error_model="numpy")
def _prune(keep, joint, best):
    """Empty the slots with the smallest joint until `keep` are left."""
    held = 0
    for k in range(len(joint)):
        held += joint[k] > -np.inf
    for _ in range(held - keep):
        smallest, least = -1, np.inf
        for k in range(len(joint)):
            if -np.inf < joint[k] <= least:
                smallest, least = k, joint[k]
        joint[smallest] = best[smallest] = -np.inf


@njit(cache=True, error_model="numpy")
def _normalise(joint, best):
    """Subtract from both the log of the sum of all joints."""
    largest, total = -np.inf, 0.0
    for k in range(len(joint)):
        largest = max(largest, joint[k])
    for k in range(len(joint)):
        total += math.exp(joint[k] - largest)
    shift = largest + math.log(total)
    for k in range(len(joint)):
        joint[k] -= shift
        best[k] -= shift


def _normalised(log_joint: np.ndarray) -> np.ndarray:
    """Return log weights; all are -inf before the first observation."""
    largest = log_joint.max(axis=1, keepdims=True)
    if np.isneginf(largest).any():
        log_joint = np.where(np.isneginf(largest), 0.0, log_joint)
        return np.where(np.isneginf(largest), -np.inf, _normalised(log_joint))
    return log_joint - logsumexp(log_joint, axis=1, keepdims=True)

"""Bayesian on-line changepoint detection over any learner with a log evidence.

Every slot is a history of the current segment: its run length r (0: the last observation is
the first of its segment), and a learner that has seen the segment alone. Before an
observation every segment may end: fresh learners (one a model of the learner's set) start
with the hazard's share, the others go on. The evidence of the observation weighs them all,
and the `keep` largest stay.

An observation is a row for learners that are compiled row by row, a task for all others.

Source: knoblauch2018robust, section 2 (Eq. 2), in logarithms: with l the log evidence of a row,

    J_t(0, m) = l + log q(m) + log h + logsumexp J_{t-1},
    J_t(r + 1, m) = l + log(1 - h) + J_{t-1}(r, m).

The largest joint probability of any segmentation (P. Fearnhead and Z. Liu, 2007) follows the
same recursion with a maximum in place of the sum. The robust version of the paper has the
beta-divergence score in place of the log density: that is the learner's log evidence.

A constant may be added to all log joints; so the factor 1 - h, which all histories that go on
have in common, is left out, and h counts as h / (1 - h).

State: the learner's as base.*, [S, K, ...], and as home.* what segments start from, if that is
the warm-up's posterior; run_length, model, log_joint, map_log_joint [S, K], -inf in empty slots.
`drift` adds the fresh slots at the end, with run length -1, and leaves the others as they are.
Info, [S, K], slots by weight: run_length, model, log_weight (normalised), map_log_joint.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Interval
from numba import njit
from scipy.special import logsumexp

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

NEEDS: tuple[str, ...] = ()
REFUSES = ("counts", "mixed")
REQUIRES = {"warm-up": {"start": ("pretrained",)}}
INSIDE = ("log_evidence",)
OFFERS = ("changes", "run_length")
WARMS = {"inside": {"start": ("pretrained",)}}

OWN = ("run_length", "model", "log_joint", "map_log_joint")


@dataclass(frozen=True)
class Settings:
    hazard: Annotated[float, Interval(gt=0, lt=1)] = 0.01
    """Probability that a segment ends before an observation; 1/100 on the well-log."""
    keep: Annotated[int, Ge(1)] = 50
    """Number K of (run length, model) pairs that are kept; 50 on the well-log, 200, 75."""
    start: Literal["scratch", "pretrained"] = "scratch"
    """What segments start from: the initial prior, or the posterior of the warm-up, which is then
    no segment of its own."""


def build(settings: Settings, problem: Problem, learner: Learner) -> Learner:
    """Run lengths over a learner whose Info has log_evidence."""
    odds, keep = np.log(settings.hazard) - np.log1p(-settings.hazard), settings.keep

    def init(seeds: np.ndarray) -> State:
        size, home = (len(seeds), keep), learner.init(seeds)
        base = mapped(lambda a: np.repeat(a[:, :1], keep, axis=1), home)
        remembered = prefixed(home, "home.") if settings.start == "pretrained" else {}
        return (
            remembered
            | prefixed(base, "base.")
            | {
                "run_length": np.zeros(size, np.int64),
                "model": np.zeros(size, np.int64),
                "log_joint": np.full(size, -np.inf),
                "map_log_joint": np.full(size, -np.inf),
            }
        )

    def drift(state: State, seeds: np.ndarray) -> State:
        """With fresh slots at the end; what segments start from stays beside them."""
        old = learner.drift(part(state, "base."), seeds)
        home = part(state, "home.") or learner.init(seeds)
        fresh = prefixed(home, "base.") | _newborn(state, home, odds)
        old = prefixed(old, "base.") | {name: state[name] for name in OWN}
        drifted = {name: np.concatenate([old[name], fresh[name]], axis=1) for name in old}
        return _home(state) | drifted

    def warm_up(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        if settings.start == "scratch":
            return observe(state, batch, seeds)
        home, info = learner.begin(part(state, "home."), batch, seeds)
        return state | prefixed(home, "home."), info

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        predictive = learner.predict(part(state, "base."), inputs, seeds)
        return predictive._replace(log_weights=_normalised(state["log_joint"]))

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        drifted = state if _drifted(state, keep) else drift(state, seeds)
        if isinstance(learner, RowLearner):
            learnt = _observe_rows(learner, drifted, batch, seeds, keep, odds)
        else:
            learnt = _observe_task(learner, drifted, batch, seeds, keep)
        state = _home(state) | learnt
        info = {name: state[name] for name in ("run_length", "model", "map_log_joint")}
        return state, info | {"log_weight": _normalised(state["log_joint"])}

    return Learner(init, predict, observe, drift=drift, warm_up=warm_up)


def _drifted(state: State, keep: int) -> bool:
    return state["log_joint"].shape[1] > keep


def _home(state: State) -> State:
    """What segments start from, where that is not the initial prior."""
    return {name: array for name, array in state.items() if name.startswith("home.")}


def _newborn(state: State, home: State, odds: float) -> State:
    """The own arrays of the fresh slots [S, M], one a model of what segments start from."""
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
    """A task as one observation, by the learner's own `observe`; state: with fresh slots."""
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
    """All rows in one compiled loop; state: with fresh slots."""
    rows, (x, y) = learner.rows, learner.rows.check(batch)
    packed = rows.pack(part(state, "base."))
    fresh = rows.pack(part(state, "home.") or learner.init(seeds))
    length, model = state["run_length"].copy(), state["model"].copy()
    joint, best = state["log_joint"].copy(), state["map_log_joint"].copy()
    order = np.empty((len(y), keep), np.int64)
    _run(
        rows.step, x, y, np.require(batch.mask, bool, ["C", "W"]), fresh, rows.constants,
        np.empty(rows.scratch), odds, packed, length, model, joint, best, order,
    )  # fmt: skip
    at = np.arange(len(y))[:, None], order
    return prefixed(rows.unpack(packed[at]), "base.") | {
        "run_length": length[at],
        "model": model[at],
        "log_joint": joint[at],
        "map_log_joint": best[at],
    }


@njit(cache=True, error_model="numpy")
def _run(
    step, x, y, seen, fresh, constants, scratch, odds, packed, length, model, joint, best, order
):
    """The recursion over rows, in place; order: the slots that are kept, best first."""
    for s in range(y.shape[0]):
        keep, started = order.shape[1], False
        for i in range(y.shape[1]):
            if not seen[s, i]:
                continue
            if started:
                _bear(fresh[s], odds, packed[s], length[s], model[s], joint[s], best[s])
            started = True
            for k in range(joint.shape[1]):
                if joint[s, k] > -np.inf:
                    found = step(packed[s, k], x[s, i], y[s, i], constants, scratch)
                    joint[s, k] += found
                    best[s, k] += found
                length[s, k] += 1
            _prune(keep, joint[s], best[s])
        if started:
            order[s] = np.argsort(-joint[s], kind="mergesort")[:keep]
        else:
            order[s] = np.arange(keep)


@njit(cache=True, error_model="numpy")
def _bear(fresh, odds, packed, length, model, joint, best):
    """Puts a fresh learner of each model into the empty slots."""
    largest = joint.max()
    total = largest + math.log(np.exp(joint - largest).sum())
    ancestor = best.max()
    share = math.log(len(fresh))
    k = 0
    for m in range(len(fresh)):
        while joint[k] > -np.inf:
            k += 1
        packed[k] = fresh[m]
        length[k], model[k] = -1, m
        joint[k], best[k] = total + odds - share, ancestor + odds - share
        k += 1


@njit(cache=True, error_model="numpy")
def _prune(keep, joint, best):
    """Empties the slots with the smallest joint until `keep` are left; normalises the rest."""
    for _ in range(len(joint) - keep):
        smallest = -1
        for k in range(len(joint)):
            if joint[k] > -np.inf and (smallest < 0 or joint[k] <= joint[smallest]):
                smallest = k
        if np.isneginf(joint).sum() >= len(joint) - keep:
            break
        joint[smallest] = best[smallest] = -np.inf
    largest = joint.max()
    total = largest + math.log(np.exp(joint - largest).sum())
    for k in range(len(joint)):
        joint[k] -= total
        best[k] -= total


def _normalised(log_joint: np.ndarray) -> np.ndarray:
    """Log weights; -inf everywhere before the first observation."""
    largest = log_joint.max(axis=1, keepdims=True)
    if np.isneginf(largest).any():
        log_joint = np.where(np.isneginf(largest), 0.0, log_joint)
        return np.where(np.isneginf(largest), -np.inf, _normalised(log_joint))
    return log_joint - logsumexp(log_joint, axis=1, keepdims=True)

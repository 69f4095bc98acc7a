"""Variational beam search: several histories of changes in parallel, over any learner.

Each hypothesis s_1..s_t keeps a posterior of its own. Before every task but the first, after
a warm-up or without one, every hypothesis splits in two: s = 0 keeps its posterior as the prior,
s = 1 broadens it. Both are fitted, weighed by their evidence, and the best `size` of them stay.
Size 1 is the greedy search.

Source: li2021vbs, Eq. 3-8, section 3.4, Algorithm 1. Needs a learner with `broaden` and a
log evidence. m is P(s = 1), as in Eq. 6 and 7 (Eq. 8 swaps it).

weights `paper`: log w += log q(s), normalised between siblings only, so that the evidence
of the family is dropped; `bayes`: log w += log p(s) + L / T, Bayes' rule.

State: those of the learner as base.*, K slots [S, K, ...] always; log_weight [S, K],
-inf in empty slots; step [S, 1]. After `drift` there are 2K slots: first the s = 0, then
the s = 1 children.
Info: those of the learner for the hypotheses kept; parent [S, K] (slot before the task),
shift [S, K] (the hypothesis' s_t), log_weight [S, K] normalised. Slots are sorted by
weight, so slot 0 is the most likely hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Interval, Le
from scipy.special import log_expit, logsumexp

from shiftbench.interface import (
    Batch,
    Broadening,
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

NEEDS: tuple[str, ...] = ()
REFUSES = ("counts", "mixed")
INSIDE = ("broaden", "log_evidence")
OFFERS = {
    "changes": True,
    "lineage": True,
    "diffusion": {"broadening": ("diffuse",)},
    "rivals": {"not size": (1,)},
}
PASSES = ("level", "mean")
WARMS = "inside"


@dataclass(frozen=True)
class Settings:
    size: Annotated[int, Ge(1)] = 6
    """Number K of hypotheses that are kept; 1 is variational greedy search."""
    weights: Literal["paper", "bayes"] = "paper"
    """Recursion of the hypotheses' weights."""
    truncation: Literal["plain", "diversified"] = "diversified"
    """plain: the K best; diversified: li2021vbs, 3.4, a member of every surviving family."""
    discard: Annotated[float, Interval(ge=0, lt=1)] = 0.3333333333333333
    """Share of the children that diversified truncation drops before families are looked at."""
    broadening: Literal["temper", "temper-prior", "geometric", "diffuse"] = "temper"
    """How the posterior is widened for s = 1: q^beta; q^beta p0 or q^beta p0^(1 - beta), with p0
    the initial prior; or q convolved with N(0, variance)."""
    beta: Annotated[float, Gt(0), Le(1)] = 0.6666666666666666
    """Exponent of the tempering; the share of precision that is kept."""
    variance: Annotated[float, Ge(0)] = 1.0
    """Variance D that `diffuse` adds."""
    prior_log_odds: float = 0.0
    """xi_0 = log p(s = 1) - log p(s = 0)."""
    temperature: Annotated[float, Gt(0)] | Literal["observations"] = 1.0
    """T that divides the evidence; `observations`: the number of rows of the task."""
    fits: Literal["batched", "sequential"] = "batched"
    """Whether the hypotheses are fitted side by side, or one after the other, in less memory."""


def build(settings: Settings, problem: Problem, learner: Learner) -> Learner:
    """A beam of `settings.size` hypotheses over a learner that can be broadened."""
    if learner.broaden is None:
        raise LearnerError(
            "beam: the learner inside cannot be broadened; use one that offers `broaden`, as"
            " config/README.md lists"
        )
    widen = learner.broaden
    fit = learner.observe if settings.fits == "batched" else partial(_in_turn, learner)
    how = Broadening(settings.broadening, settings.beta, settings.variance)
    log_prior = log_expit(np.array([-settings.prior_log_odds, settings.prior_log_odds]))

    def init(seeds: np.ndarray) -> State:
        log_weight = np.full((len(seeds), settings.size), -np.inf)
        log_weight[:, 0] = 0.0
        base = mapped(lambda a: _tile(a, settings.size), learner.init(seeds))
        step = np.zeros((len(seeds), 1), dtype=np.int64)
        return _pack(base, log_weight, step)

    def drift(state: State, seeds: np.ndarray) -> State:
        """All 2K children before they see the task, with their parents' weights."""
        base = learner.drift(part(state, "base."), seeds)
        children = _stack(base, widen(base, how))
        log_weight = np.concatenate([state["log_weight"]] * 2, axis=1)
        # The first task has no past that it could have shifted from: no split.
        first = (state["step"] == 0) & (np.arange(2 * settings.size) >= settings.size)
        return _pack(children, np.where(first, -np.inf, log_weight), state["step"])

    def warm_up(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        """One fit, without a decision: the first task has no past shift to find either."""
        base, info = _alone(learner.begin, state, batch, seeds)
        return _pack(base, state["log_weight"], state["step"]), info

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        log_weight = state["log_weight"]
        if _drifted(state, settings.size) and state["step"].min() > 0:
            log_weight = log_weight + np.repeat(log_prior, settings.size)
        predictive = learner.predict(part(state, "base."), inputs, seeds)
        return predictive._replace(log_weights=_normalised(log_weight))

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        if not _drifted(state, settings.size):
            state = drift(state, seeds)
        if state["step"].max() == 0:
            fitted, info = _alone(learner.observe, state, batch, seeds)
        else:
            fitted, info = fit(part(state, "base."), batch, seeds)
        evidence = _tempered(settings, info, batch)
        log_weight = _reweigh(settings.weights, state, evidence, log_prior)
        kept = select(log_weight, settings.size, settings.truncation, settings.discard)
        log_weight = np.take_along_axis(log_weight, kept, axis=1)
        info = mapped(lambda a: _slots(a, kept), info)
        info |= {
            "parent": kept % settings.size,
            "shift": kept // settings.size,
            "log_weight": _normalised(log_weight),
        }
        base = mapped(lambda a: _slots(a, kept), fitted)
        return _pack(base, log_weight, state["step"] + 1), info

    return Learner(init, predict, observe, drift=drift, warm_up=warm_up)


def select(
    log_weight: np.ndarray, size: int, truncation: str, discard: float = 1 / 3
) -> np.ndarray:
    """Indices [S, size] of the children to keep, best first, of log weights [S, 2 size].

    Children i and i + size are siblings. Diversified: of the round((1 - discard) 2 size)
    best, the subset with the most families and, among those, the largest sum of log
    weights; that is the best child of each family, filled up by rank.
    """
    n = log_weight.shape[1]
    rank = np.argsort(np.argsort(-log_weight, axis=1, kind="stable"), axis=1, kind="stable")
    priority = rank.astype(float)
    if truncation == "diversified":
        keep = min(n, round((1 - discard) * n))
        sibling = np.roll(rank, size, axis=1)
        priority += n * (rank > sibling) + 2 * n * (rank >= keep)
        priority += 4 * n * np.isneginf(log_weight)
    chosen = np.argsort(priority, axis=1, kind="stable")[:, :size]
    by_rank = np.argsort(np.take_along_axis(rank, chosen, axis=1), axis=1, kind="stable")
    return np.take_along_axis(chosen, by_rank, axis=1)


def _reweigh(weights: str, state: State, evidence: np.ndarray, log_prior: np.ndarray) -> np.ndarray:
    """Log weights [S, 2K] of the children after a task with evidence [S, 2K] (tempered)."""
    log_weight = state["log_weight"]
    size = log_weight.shape[1] // 2
    first = state["step"] == 0
    if weights == "bayes":
        return log_weight + evidence + np.where(first, 0.0, np.repeat(log_prior, size))
    odds = evidence[:, size:] - evidence[:, :size] + log_prior[1] - log_prior[0]
    log_q = np.concatenate([log_expit(-odds), log_expit(odds)], axis=1)
    return log_weight + np.where(first, 0.0, log_q)


def _tempered(settings: Settings, info: Info, batch: Batch) -> np.ndarray:
    if settings.temperature == "observations":
        return info["log_evidence"] / batch.mask.sum(axis=1)[:, None]
    return info["log_evidence"] / settings.temperature


def _in_turn(learner: Learner, state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
    """`observe`, one hypothesis at a time."""
    slots = range(next(iter(state.values())).shape[1])
    each = [
        learner.observe(mapped(lambda a, k=k: a[:, k : k + 1], state), batch, seeds) for k in slots
    ]
    states, infos = zip(*each, strict=True)
    return reduce(_stack, states), reduce(_stack, infos)


def _alone(
    learn: Callable[[State, Batch, np.ndarray], tuple[State, Info]],
    state: State,
    batch: Batch,
    seeds: np.ndarray,
) -> tuple[State, Info]:
    """Where only slot 0 is alive: one fit, copied into every slot."""
    alone = mapped(lambda a: a[:, :1], part(state, "base."))
    fitted, info = learn(alone, batch, seeds)
    slots = state["log_weight"].shape[1]
    return mapped(lambda a: _tile(a, slots), fitted), mapped(lambda a: _tile(a, slots), info)


def _drifted(state: State, size: int) -> bool:
    return state["log_weight"].shape[1] == 2 * size


def _normalised(log_weight: np.ndarray) -> np.ndarray:
    return log_weight - logsumexp(log_weight, axis=1, keepdims=True)


def _pack(base: State, log_weight: np.ndarray, step: np.ndarray) -> State:
    return {"log_weight": log_weight, "step": step} | prefixed(base, "base.")


def _stack(left: State, right: State) -> State:
    return {name: np.concatenate([left[name], right[name]], axis=1) for name in left}


def _tile(array: np.ndarray, slots: int) -> np.ndarray:
    return np.repeat(array, slots, axis=1)


def _slots(array: np.ndarray, index: np.ndarray) -> np.ndarray:
    """array [S, H, ...] at index [S, K] of its hypothesis axis."""
    return array[np.arange(len(array))[:, None], index]

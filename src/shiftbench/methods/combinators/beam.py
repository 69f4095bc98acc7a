"""Variational beam search: several histories of changes in parallel, over any learner.

Each hypothesis s_1..s_t keeps a posterior of its own. Before every task but the first, after
a warm-up or without one, every hypothesis splits in two: s = 0 keeps its posterior as the prior,
s = 1 broadens it. Both are fitted, weighed by their evidence, and the best `size` of them stay.
Size 1 is the greedy search.

Source: li2021vbs, Eq. 3-8, section 3.4, Algorithm 1. Needs a learner with `broaden` and a
log evidence. m is P(s = 1), as in Eq. 6 and 7 (Eq. 8 swaps it).

weights `paper`: log w += log q(s), normalised between siblings only, so that the evidence
of the family is dropped; `bayes`: log w += log p(s) + L / T, Bayes' rule.

prior_tasks: the probability of a shift may be learnt. With a Beta prior worth so many tasks, whose
mean is that of prior_log_odds, each history predicts its next s by its own shifts so far; no paper
of the five has it.

State: those of the learner as base.*, K slots [S, K, ...] always; log_weight [S, K],
-inf in empty slots; shifts [S, K], how many a history has; step [S, 1]. After `drift` there are 2K
slots: first the s = 0, then the s = 1 children.
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
from scipy.special import expit, log_expit, logsumexp

from shiftbench.core.interface import (
    Batch,
    Info,
    Learner,
    Predictive,
    Problem,
    State,
    mapped,
    part,
    prefixed,
)
from shiftbench.methods.combinators._broadening import widening
from shiftbench.methods.combinators._truncation import select

NEEDS: tuple[str, ...] = ()
REFUSES = ("counts", "mixed")
INSIDE = ("broaden", "log_evidence")
OFFERS = {
    "changes": True,
    "lineage": True,
    "diffusion": {"broadening": ("diffuse",), "prior_tasks": ("fixed",)},
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
    prior_tasks: Annotated[float, Gt(0)] | Literal["fixed"] = "fixed"
    """How many tasks these odds are worth, where the probability of a shift is learnt."""
    temperature: Annotated[float, Gt(0)] | Literal["observations"] = 1.0
    """T that divides the evidence; `observations`: the number of rows of the task."""
    fits: Literal["batched", "sequential"] = "batched"
    """Whether the hypotheses are fitted, and predict, side by side or one after the other, in less
    memory."""


def build(settings: Settings, problem: Problem, learner: Learner) -> Learner:
    """A beam of `settings.size` hypotheses over a learner that can be broadened."""
    widen = widening("beam", settings, learner)
    fit, foretell = learner.observe, learner.predict
    if settings.fits == "sequential":
        fit, foretell = partial(_fitted_in_turn, learner), partial(_foretold_in_turn, learner)

    def init(seeds: np.ndarray) -> State:
        log_weight = np.full((len(seeds), settings.size), -np.inf)
        log_weight[:, 0] = 0.0
        base = mapped(lambda a: _tile(a, settings.size), learner.init(seeds))
        none = np.zeros(log_weight.shape, np.int64)
        return _pack(base, log_weight, none, none[:, :1])

    def drift(state: State, seeds: np.ndarray) -> State:
        """All 2K children before they see the task, with their parents' weights."""
        base = learner.drift(part(state, "base."), seeds)
        children = _stack(base, widen(base))
        log_weight = np.concatenate([state["log_weight"]] * 2, axis=1)
        # The first task has no past that it could have shifted from: no split.
        first = (state["step"] == 0) & (np.arange(2 * settings.size) >= settings.size)
        log_weight = np.where(first, -np.inf, log_weight)
        shifts = np.concatenate([state["shifts"], state["shifts"] + 1], axis=1)
        return _pack(children, log_weight, shifts, state["step"])

    def warm_up(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        """One fit, without a decision: the first task has no past shift to find either."""
        base, info = _alone(learner.begin, state, batch, seeds)
        return state | prefixed(base, "base."), info

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        log_weight = state["log_weight"]
        if _drifted(state, settings.size):
            log_weight = log_weight + _log_prior(settings, state)
        predictive = foretell(part(state, "base."), inputs, seeds)
        return predictive._replace(log_weights=_normalised(log_weight))

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        if not _drifted(state, settings.size):
            state = drift(state, seeds)
        if state["step"].max() == 0:
            fitted, info = _alone(learner.observe, state, batch, seeds)
        else:
            fitted, info = fit(part(state, "base."), batch, seeds)
        log_weight = _reweigh(settings, state, _tempered(settings, info, batch))
        kept = select(log_weight, settings.size, settings.truncation, settings.discard)
        log_weight = np.take_along_axis(log_weight, kept, axis=1)
        info = mapped(lambda a: _slots(a, kept), info)
        info |= {
            "parent": kept % settings.size,
            "shift": kept // settings.size,
            "log_weight": _normalised(log_weight),
        }
        base = mapped(lambda a: _slots(a, kept), fitted)
        shifts = np.take_along_axis(state["shifts"], kept, axis=1)
        return _pack(base, log_weight, shifts, state["step"] + 1), info

    return Learner(init, predict, observe, drift=drift, warm_up=warm_up)


def _log_prior(settings: Settings, state: State) -> np.ndarray:
    """log p(s) [S, 2K] of the children before they see the task; 0 for the first."""
    size = settings.size
    odds = np.full((len(state["step"]), size), settings.prior_log_odds)
    if settings.prior_tasks != "fixed":
        past, decided = state["shifts"][:, :size], np.maximum(state["step"] - 1, 0)
        yes = settings.prior_tasks * expit(settings.prior_log_odds) + past
        no = settings.prior_tasks * expit(-settings.prior_log_odds) + decided - past
        odds = np.log(yes) - np.log(no)
    both = np.concatenate([log_expit(-odds), log_expit(odds)], axis=1)
    return np.where(state["step"] == 0, 0.0, both)


def _reweigh(settings: Settings, state: State, evidence: np.ndarray) -> np.ndarray:
    """Log weights [S, 2K] of the children after a task with evidence [S, 2K] (tempered)."""
    log_prior, size = _log_prior(settings, state), settings.size
    if settings.weights == "bayes":
        return state["log_weight"] + evidence + log_prior
    joint = evidence + log_prior
    odds = joint[:, size:] - joint[:, :size]
    log_q = np.concatenate([log_expit(-odds), log_expit(odds)], axis=1)
    return state["log_weight"] + np.where(state["step"] == 0, 0.0, log_q)


def _tempered(settings: Settings, info: Info, batch: Batch) -> np.ndarray:
    if settings.temperature == "observations":
        return info["log_evidence"] / batch.mask.sum(axis=1)[:, None]
    return info["log_evidence"] / settings.temperature


def _fitted_in_turn(
    learner: Learner, state: State, batch: Batch, seeds: np.ndarray
) -> tuple[State, Info]:
    """`observe`, one hypothesis at a time."""
    each = [learner.observe(alone, batch, seeds) for alone in _apart(state)]
    states, infos = zip(*each, strict=True)
    return reduce(_stack, states), reduce(_stack, infos)


def _foretold_in_turn(
    learner: Learner, state: State, inputs: np.ndarray, seeds: np.ndarray
) -> Predictive:
    """`predict`, one hypothesis at a time."""
    each = [learner.predict(alone, inputs, seeds) for alone in _apart(state)]
    fields = [{k: a for k, a in one._asdict().items() if a is not None} for one in each]
    return each[0]._replace(**reduce(_stack, fields))


def _apart(state: State) -> list[State]:
    """States of one hypothesis each."""
    slots = range(next(iter(state.values())).shape[1])
    return [mapped(lambda a, k=k: a[:, k : k + 1], state) for k in slots]


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


def _pack(base: State, log_weight: np.ndarray, shifts: np.ndarray, step: np.ndarray) -> State:
    own = {"log_weight": log_weight, "shifts": shifts, "step": step}
    return own | prefixed(base, "base.")


def _stack(left: State, right: State) -> State:
    return {name: np.concatenate([left[name], right[name]], axis=1) for name in left}


def _tile(array: np.ndarray, slots: int) -> np.ndarray:
    return np.repeat(array, slots, axis=1)


def _slots(array: np.ndarray, index: np.ndarray) -> np.ndarray:
    """array [S, H, ...] at index [S, K] of its hypothesis axis."""
    return array[np.arange(len(array))[:, None], index]

"""Variational beam search: several histories of changes in parallel, over any learner.

Each hypothesis s_1..s_t has its own posterior. Before every task but the first (a warm-up is
not counted) every hypothesis splits in two: with s = 0 its posterior q is the prior, with s = 1 the
broadened posterior is:

    prior(w | s = 0) = q(w),  prior(w | s = 1) = q(w)^beta / constant,  0 < beta < 1.

Both are fitted and weighed by their evidence, and the best `size` stay. Size 1 is variational
greedy search.

Source: li2021vbs, Eq. 3-8, section 3.4, Algorithm 1; m is P(s = 1), as in Eq. 6 and 7 (Eq. 8 swaps
it). Needs a learner with `broaden` and a log evidence. Knows: the prior odds of a shift.

With weights `paper`, log w += log q(s), normalised between siblings only, so that the evidence of
the family is dropped. With weights `bayes`, log w += log p(s) + L / T, Bayes' rule.

With prior_tasks, the probability of a shift is learnt: its Beta prior counts as that number of
tasks and has the mean given by prior_log_odds, and each history predicts its next s from its own
shifts so far. None of the five papers has this.

State: the learner's as base.*, always K slots [S, K, ...]; log_weight [S, K], -inf in empty slots
and, with weights `bayes`, 0 for the best; shifts [S, K], the number of shifts in a history; step
[S, 1]. After `drift` there are 2K slots: first the children with s = 0, then those with s = 1.
Info: the learner's, of the hypotheses that are kept; parent [S, K] (slot before the task), shift
[S, K] (the hypothesis' s_t), log_weight [S, K], normalised. Slots are sorted by weight, so slot 0
is the most likely hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Interval, Le

from shiftbench.core.facts import Facts
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
from shiftbench.methods.combinators import _beam_rows, _beam_rule, _broadening
from shiftbench.methods.combinators._beam_rule import Rule
from shiftbench.methods.combinators._truncation import survivors
from shiftbench.methods.online import rows
from shiftbench.methods.state_parts import stack, take

FACTS = Facts(
    offers={
        "changes": True,
        "lineage": True,
        "diffusion": {"broadening": ("diffuse",), "prior_tasks": ("fixed",)},
        "rivals": {"not size": (1,)},
    },
    refuses=("counts", "mixed"),
    from_learner=("broaden", "log_evidence"),
    passes=("level", "mean"),
    warms="inside",
)


@dataclass(frozen=True)
class Settings:
    size: Annotated[int, Ge(1)] = 6
    """Number K of hypotheses that are kept; 1 for variational greedy search."""
    weights: Literal["paper", "bayes"] = "paper"
    """Recursion of the weights; paper: li2021vbs, Algorithm 1; bayes: Bayes' rule."""
    truncation: Literal["plain", "diversified"] = "diversified"
    """Choice of the K; plain: the best; diversified: one of every surviving family (3.4)."""
    discard: Annotated[float, Interval(ge=0, lt=1)] = 0.3333333333333333
    """diversified: share of the children that is dropped before families are compared."""
    broadening: Literal["temper", "temper-prior", "geometric", "diffuse", "ou"] = "temper"
    """Broadening for s = 1. temper: q^beta; temper-prior: q^beta p0; geometric:
    q^beta p0^(1 - beta), with p0 the initial prior; diffuse: q convolved with N(0, variance); ou:
    an Ornstein-Uhlenbeck step to the mean beta m + (1 - beta) m0, covariance beta^2 V +
    (1 - beta^2) V0."""
    beta: Annotated[float, Gt(0), Le(1)] = 0.6666666666666666
    """Exponent of q: the share of its precision that is kept (1 forgets nothing); ou: factor that
    multiplies the mean."""
    variance: Annotated[float, Ge(0)] = 1.0
    """diffuse: variance D that is added."""
    prior_log_odds: float = 0.0
    """Prior log odds of a shift, xi_0 = log p(s = 1) - log p(s = 0)."""
    prior_tasks: Annotated[float, Gt(0)] | Literal["fixed"] = "fixed"
    """Weight of the prior odds, in tasks, if the odds are learnt; fixed: they are not."""
    temperature: Annotated[float, Gt(0)] | Literal["observations"] = 1.0
    """T, which divides the log evidence; observations: the task's number of rows."""
    fits: Literal["batched", "sequential"] = "batched"
    """Fits and predictions of hypotheses: side by side, or one after the other in less memory."""


def work(settings, problem):
    """Return the problem inside, for a forecast: two children of each hypothesis that is kept."""
    kept = min(settings["size"], max(problem.tasks, 1))
    return problem.repeated(2 * kept, settings.get("fits") == "sequential")


def build(settings: Settings, problem: Problem, learner: Learner) -> Learner:
    """Build a beam over a learner; LearnerError if the learner cannot be broadened."""
    broaden, rule = _broadening.broadening_of("beam", settings, learner), _rule(settings)
    fit, predict_slots = learner.observe, learner.predict
    if settings.fits == "sequential":
        fit = partial(_fit_sequentially, learner)
        predict_slots = partial(_predict_sequentially, learner)

    def init(seeds: np.ndarray) -> State:
        log_weight = np.full((len(seeds), settings.size), -np.inf)
        log_weight[:, 0] = 0.0
        base = mapped(lambda a: _tile(a, settings.size), learner.init(seeds))
        shifts = np.zeros(log_weight.shape, np.int64)
        return _pack(base, log_weight, shifts, shifts[:, :1])

    def drift(state: State, seeds: np.ndarray) -> State:
        """Split every hypothesis into two children, which have their parent's weight."""
        base = learner.drift(part(state, "base."), seeds)
        children = stack(base, broaden(base))
        log_weight = np.concatenate([state["log_weight"]] * 2, axis=1)
        # There is no split before the first task, which has no past to shift from.
        first = (state["step"] == 0) & (np.arange(2 * settings.size) >= settings.size)
        log_weight = np.where(first, -np.inf, log_weight)
        shifts = np.concatenate([state["shifts"], state["shifts"] + 1], axis=1)
        return _pack(children, log_weight, shifts, state["step"])

    def warm_up(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        """Fit the prior to data from before the stream, without a split."""
        base, info = _fit_first_slot(learner.begin, state, batch, seeds)
        return state | prefixed(base, "base."), info

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        predictive = predict_slots(part(state, "base."), inputs, seeds)
        own = _beam_rule.of_state(state)
        return predictive._replace(log_weights=_beam_rule.weights_before(rule, *own))

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        if not _is_split(state, settings.size):
            state = drift(state, seeds)
        if state["step"].max() == 0:
            fitted, info = _fit_first_slot(learner.observe, state, batch, seeds)
        else:
            fitted, info = fit(part(state, "base."), batch, seeds)
        own = _beam_rule.of_state(state)
        seen = batch.mask.sum(axis=1)
        evidence = np.require(info["log_evidence"], float, ["C", "W"])
        kept, log_weight = _beam_rule.decide(rule, own[0], own[1], own[2], evidence, seen)
        info = mapped(lambda a: take(a, kept), info)
        info |= {
            "parent": kept % settings.size,
            "shift": kept // settings.size,
            "log_weight": _beam_rule.weights_before(rule, log_weight, *own[1:]),
        }
        base = mapped(lambda a: take(a, kept), fitted)
        shifts = np.take_along_axis(state["shifts"], kept, axis=1)
        return _pack(base, log_weight, shifts, state["step"] + 1), info

    compiled, how = rows.compiled_of(learner), rows.widening(_broadening.broadening(settings))
    block = _beam_rows.block(compiled, rule, how) if compiled else None
    return Learner(init, predict, observe, drift=drift, warm_up=warm_up, block=block)


def _rule(settings: Settings) -> Rule:
    """Return the settings as numbers."""
    fixed, by_rows = settings.prior_tasks == "fixed", settings.temperature == "observations"
    return Rule(
        size=settings.size,
        survivors=survivors(settings.size, settings.truncation, settings.discard),
        bayes=settings.weights == "bayes",
        prior_log_odds=float(settings.prior_log_odds),
        prior_tasks=0.0 if fixed else float(settings.prior_tasks),
        temperature=0.0 if by_rows else float(settings.temperature),
    )


def _fit_sequentially(
    learner: Learner, state: State, batch: Batch, seeds: np.ndarray
) -> tuple[State, Info]:
    """Run `observe` for one hypothesis after the other."""
    results = [learner.observe(single, batch, seeds) for single in _split_hypotheses(state)]
    states, infos = zip(*results, strict=True)
    return reduce(stack, states), reduce(stack, infos)


def _predict_sequentially(
    learner: Learner, state: State, inputs: np.ndarray, seeds: np.ndarray
) -> Predictive:
    """Run `predict` for one hypothesis after the other."""
    results = [learner.predict(single, inputs, seeds) for single in _split_hypotheses(state)]
    fields = [{k: a for k, a in result._asdict().items() if a is not None} for result in results]
    return results[0]._replace(**reduce(stack, fields))


def _split_hypotheses(state: State) -> list[State]:
    """Split a state into states of one hypothesis each."""
    slots = range(next(iter(state.values())).shape[1])
    return [{name: a[:, k : k + 1] for name, a in state.items()} for k in slots]


def _fit_first_slot(
    learn: Callable[[State, Batch, np.ndarray], tuple[State, Info]],
    state: State,
    batch: Batch,
    seeds: np.ndarray,
) -> tuple[State, Info]:
    """Fit slot 0, while it is the only hypothesis, and copy the result into every slot."""
    first = mapped(lambda a: a[:, :1], part(state, "base."))
    fitted, info = learn(first, batch, seeds)
    slots = state["log_weight"].shape[1]
    return mapped(lambda a: _tile(a, slots), fitted), mapped(lambda a: _tile(a, slots), info)


def _is_split(state: State, size: int) -> bool:
    """Return whether the hypotheses have been split for the next task."""
    return state["log_weight"].shape[1] == 2 * size


def _pack(base: State, log_weight: np.ndarray, shifts: np.ndarray, step: np.ndarray) -> State:
    """Put the beam's own arrays and the learner's state into one state."""
    own = {"log_weight": log_weight, "shifts": shifts, "step": step}
    return own | prefixed(base, "base.")


def _tile(array: np.ndarray, slots: int) -> np.ndarray:
    """Repeat a single hypothesis [S, 1, ...] for all slots."""
    return np.repeat(array, slots, axis=1)

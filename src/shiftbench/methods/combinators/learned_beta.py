"""Robust run lengths over bayes-linear that learn both betas from their forecasts.

`run_length` with a gradient step after every row on the loss of the one-step-ahead forecast,
the absolute error up to a bound (knoblauch2018robust, section 4, Eq. 12): with weights w(r) and D
the derivatives of the log joints (`_slopes.py`), sum_r w D = 0,

    d forecast / d beta_rlm = sum_r w(r) D(r) E(y | r).

The one in beta_p is the central difference of two whole filters, which have a beta_p that is
10 % larger and smaller ever since the start; the authors' code differentiates a forecast that
does not depend on beta_p. Both betas start at the settings of the learner inside; with beta_p
= 0 there, the parameters stay standard and only beta_rlm is learnt.

State: of run_length as filter.* [S, F, K, ...], with beta_p that of F = 3 filters, the one
that predicts first; beta_rlm, beta_p, count of rows [S, 1]. Info: as run_length, and
beta_rlm, beta_p after the row, [S, K], the same in all slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Interval
from scipy.special import gammaln, psi

from shiftbench.core.interface import (
    Batch,
    Info,
    Learner,
    LearnerError,
    Predictive,
    Problem,
    State,
    StudentT,
    mapped,
    part,
    prefixed,
)
from shiftbench.methods.combinators import _beta_gradients, run_length
from shiftbench.methods.online.learnable_betas import RobustLearner

NEEDS: tuple[str, ...] = ()
REFUSES = ("mixed",)
INSIDE = ("betas",)
OFFERS = ("changes", "run_length")

LEAST, MOST = {"beta_rlm": 1e-5, "beta_p": 1e-3}, 5.0
"""Where the betas may go, as in the authors' code; below 0.001 the two filters beside the one
with beta_p differ by less than what their fits leave open."""
SIDES = np.array([1.0, 1.1, 0.9])
"""What the three filters multiply beta_p with."""


@dataclass(frozen=True)
class Settings:
    hazard: Annotated[float, Interval(gt=0, lt=1)] = 0.01
    """Probability that a segment ends before an observation, as in run-length."""
    keep: Annotated[int, Ge(1)] = 50
    """Number of (run length, model) pairs that are kept, as in run-length."""
    bound: Annotated[float, Gt(0)] = 1.0
    """The loss is the absolute error of a target up to this bound, in units of it."""
    rate: Annotated[float, Gt(0)] = 0.05
    """Step per unit of the gradient; the authors' code starts with .05."""
    largest_step: Annotated[float, Gt(0)] = 0.001
    """Longest step of a beta; 5 / T in the authors' code, .0012 on the well-log."""
    first: Annotated[int, Ge(0)] = 100
    """Rows before the betas are learnt; 100 in the authors' scripts."""


def build(settings: Settings, problem: Problem, learner: Learner) -> Learner:
    """Run lengths with learnt betas over a robust learner with beta_rlm > 0: `bayes-linear`.

    LearnerError for another learner, or for beta_rlm = 0.
    """
    if not isinstance(learner, RobustLearner):
        raise LearnerError("learned-beta: needs a learner with betas inside: bayes-linear")
    if learner.beta_rlm == 0:
        raise LearnerError("learned-beta: give bayes-linear a beta_rlm above 0 to start from")
    filters = _Filters(learner, run_length.Settings(settings.hazard, settings.keep), problem)
    own = {"beta_rlm": learner.beta_rlm, "beta_p": learner.beta_p, "count": 0.0}

    def init(seeds: np.ndarray) -> State:
        state = {name: np.full((len(seeds), 1), value) for name, value in own.items()}
        return state | filters.packed(filters.at(state).init(filters.each(seeds)))

    def drift(state: State, seeds: np.ndarray) -> State:
        base = filters.unpacked(state)
        base = _beta_gradients.drifted(filters.at(state), base, settings.keep, filters.each(seeds))
        return state | filters.packed(base)

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        return filters.at(state).predict(filters.first(filters.unpacked(state)), inputs, seeds)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        for i in range(batch.mask.shape[1]):
            row = Batch(*(array[:, i : i + 1] for array in batch))
            state, info = _observe_row(settings, filters, drift(state, seeds), row, seeds)
        wide = {n: np.repeat(state[n], settings.keep, axis=1) for n in ("beta_rlm", "beta_p")}
        return state, info | wide

    return Learner(init, predict, observe, drift=drift)


@dataclass(frozen=True)
class _Filters:
    """F run lengths over the same learner, each at its own beta_p.

    [S, F, K, ...] in the state; outside of it each filter is like a repetition, [S F, K, ...].
    """

    learner: RobustLearner
    lengths: run_length.Settings
    problem: Problem

    @property
    def sides(self) -> np.ndarray:
        """What the filters multiply beta_p with; without beta_p there is one alone."""
        return SIDES if self.learner.beta_p else SIDES[:1]

    def at(self, state: State) -> Learner:
        """All filters at the betas of the state."""
        beta_rlm = self.each(state["beta_rlm"][:, 0])
        beta_p = (state["beta_p"] * self.sides).ravel()
        no_seeds = np.zeros((len(beta_p), 2), int)  # its predictions draw nothing

        def scored(base: State, row: Batch) -> tuple[State, np.ndarray, np.ndarray]:
            predictive = self.learner.predict(base, row.inputs, no_seeds)
            evidence, slope = scores(predictive, row.targets, beta_rlm)
            return self.learner.observe_at(base, row, beta_p), evidence, slope[..., None]

        return _beta_gradients.filtered(self.lengths, self.problem, self.learner, scored, 1)

    def each(self, array: np.ndarray) -> np.ndarray:
        """[S, ...] -> [S F, ...], the same for all filters."""
        return np.repeat(array, len(self.sides), axis=0)

    def first(self, base: State) -> State:
        """[S F, ...] -> [S, ...], of the filter that predicts."""
        return mapped(lambda a: a[:: len(self.sides)], base)

    def packed(self, base: State) -> State:
        shaped = mapped(lambda a: a.reshape(-1, len(self.sides), *a.shape[1:]), base)
        return prefixed(shaped, "filter.")

    def unpacked(self, state: State) -> State:
        return mapped(lambda a: a.reshape(-1, *a.shape[2:]), part(state, "filter."))


def _observe_row(
    settings: Settings, filters: _Filters, state: State, row: Batch, seeds: np.ndarray
) -> tuple[State, Info]:
    """All filters take the row, then the betas a step; state: with fresh slots."""
    inner, base, seeds = filters.at(state), filters.unpacked(state), filters.each(seeds)
    rows = Batch(*(filters.each(array) for array in row))
    predictive = inner.predict(base, rows.inputs, seeds)
    _, slope = _beta_gradients.of_slots(base)
    gradient = _gradients(predictive, slope, state, row, settings.bound)
    base, info = inner.observe(base, rows, seeds)
    base, _ = _beta_gradients.centred(base, info, rows.mask)
    state = state | filters.packed(base) | {"count": state["count"] + row.mask}
    learning = row.mask & (state["count"] > settings.first)
    for name, slope in gradient.items():
        step = _beta_gradients.clipped(settings.rate * slope, settings.largest_step)
        moved = np.clip(state[name] - step, LEAST[name], MOST)
        state[name] = np.where(learning, moved, state[name])
    return state, filters.first(info)


def _gradients(
    predictive: Predictive, slope: np.ndarray, state: State, row: Batch, bound: float
) -> dict[str, np.ndarray]:
    """Gradient [S, 1] of the row's loss in each beta that is learnt; all filters' predictions."""
    assert isinstance(predictive, StudentT)
    weight, mean = np.exp(predictive.log_weights), predictive.mean[:, :, 0]
    forecasts = np.einsum("sk,skd->sd", weight, mean)
    turns = np.einsum("sk,skd->sd", weight * slope[..., 0], mean - forecasts[:, None])
    sides = len(forecasts) // len(row.mask)
    forecast, *others = (forecasts[f::sides] for f in range(sides))
    in_each = {"beta_rlm": turns[::sides]}
    if others:
        width = (SIDES[1] - SIDES[2]) * state["beta_p"]
        in_each["beta_p"] = (others[0] - others[1]) / width
    error = forecast - row.targets[:, 0]
    of_forecast = np.sign(error) * (np.abs(error) < bound) / bound
    return {name: (of_forecast * g).sum(1, keepdims=True) for name, g in in_each.items()}


def scores(
    predictive: Predictive, targets: np.ndarray, beta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Beta-divergence score [S, H] of one row, targets [S, 1, d], and its derivative in beta [S].

    Less 1 / beta, which all hypotheses have in common, so that a small beta costs no digits:
    (f^beta - 1) / beta - I / (1 + beta), I the integral of f^(1 + beta).
    """
    assert isinstance(predictive, StudentT)
    beta, df, d = beta[:, None], predictive.df, targets.shape[-1]
    root = np.linalg.cholesky(predictive.scale[:, :, 0])
    residual = targets[:, :, :, None] - predictive.mean[:, :, 0, :, None]
    square = (np.linalg.solve(root, residual) ** 2).sum(axis=(2, 3))
    log_det = 2 * np.log(np.diagonal(root, axis1=2, axis2=3)).sum(axis=2)
    peak = gammaln((df + d) / 2) - gammaln(df / 2) - 0.5 * (d * np.log(df * np.pi) + log_det)
    log_f = peak - 0.5 * (df + d) * np.log1p(square / df)
    wide = 0.5 * (df * (1 + beta) + d * beta)
    log_ratio = gammaln((df + d) / 2) - gammaln(df / 2)
    integral = np.exp(log_ratio + beta * peak + gammaln(wide) - gammaln(wide + 0.5 * d))
    in_integral = integral * (peak + 0.5 * (df + d) * (psi(wide) - psi(wide + 0.5 * d)))
    power = np.expm1(beta * log_f)
    slope = (beta * log_f * (1 + power) - power) / beta**2
    slope += integral / (1 + beta) ** 2 - in_integral / (1 + beta)
    return power / beta - integral / (1 + beta), slope

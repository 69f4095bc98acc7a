"""Robust run lengths that learn both betas of the learner inside from their forecasts.

`run_length` with a gradient step after every row on the loss of the one-step-ahead forecast, the
absolute error up to a bound. Source: knoblauch2018robust, section 4, Eq. 12. With weights w(r) and
D the derivatives of the log joints in beta_rlm (`_beta_gradients.py`), centred so that
sum_r w D = 0,

    d forecast / d beta_rlm = sum_r w(r) D(r) E(y | r).

The gradient in beta_p is the central difference of two whole filters whose beta_p has always been
10 % larger and smaller; the authors' code differentiates a forecast that does not depend on beta_p.
Both betas start at the settings of the learner inside. With beta_p = 0 there, the parameters stay
standard and only beta_rlm is learnt. Knows: as the learner inside, and the hazard.

State: run_length's as filter.* [S, F, K, ...], for F = 3 filters (1 with beta_p = 0), of which the
first predicts; beta_rlm, beta_p, count of rows [S, 1].
Info: as run_length; and beta_rlm, beta_p after the row, [S, K], the same in all slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Interval
from scipy.special import gammaln, psi

from shiftbench.core.facts import Facts
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

FACTS = Facts(offers=("changes", "run_length"), refuses=("mixed",), from_learner=("betas",))

SMALLEST, LARGEST = {"beta_rlm": 1e-5, "beta_p": 1e-3}, 5.0
"""Bounds of the betas, as in the authors' code; below 0.001, filters with nearby beta_p differ by
less than the tolerance of their fits."""
BETA_P_FACTORS = np.array([1.0, 1.1, 0.9])
"""Factors of beta_p in the three filters."""


@dataclass(frozen=True)
class Settings:
    hazard: Annotated[float, Interval(gt=0, lt=1)] = 0.01
    """Probability that a segment ends before an observation, as in run-length."""
    keep: Annotated[int, Ge(1)] = 50
    """Number K of (run length, model) pairs that are kept, as in run-length."""
    bound: Annotated[float, Gt(0)] = 1.0
    """Bound of the absolute error in the loss, and the loss's unit."""
    rate: Annotated[float, Gt(0)] = 0.05
    """Learning rate of the betas (start value in the authors' code)."""
    largest_step: Annotated[float, Gt(0)] = 0.001
    """Bound of a step of a beta (authors' code: 5 / T, 0.0012 on the well-log)."""
    first: Annotated[int, Ge(0)] = 100
    """Number of rows before the betas are learnt (authors' scripts: 100)."""


def build(settings: Settings, problem: Problem, learner: Learner) -> Learner:
    """Build run lengths with learnt betas over `bayes-linear` with beta_rlm > 0.

    Raises LearnerError for other learners, or for beta_rlm = 0.
    """
    if not isinstance(learner, RobustLearner):
        raise LearnerError("learned-beta: needs a learner with betas inside: bayes-linear")
    if learner.beta_rlm == 0:
        raise LearnerError("learned-beta: give bayes-linear a beta_rlm above 0 to start from")
    filters = _Filters(learner, run_length.Settings(settings.hazard, settings.keep), problem)
    own = {"beta_rlm": learner.beta_rlm, "beta_p": learner.beta_p, "count": 0.0}

    def init(seeds: np.ndarray) -> State:
        state = {name: np.full((len(seeds), 1), value) for name, value in own.items()}
        return state | filters.packed(filters.build_at(state).init(filters.repeated(seeds)))

    def drift(state: State, seeds: np.ndarray) -> State:
        inner, base, seeds = (
            filters.build_at(state),
            filters.unpacked(state),
            filters.repeated(seeds),
        )
        return state | filters.packed(
            _beta_gradients.with_fresh_slots(inner, base, settings.keep, seeds)
        )

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        base = filters.first(filters.unpacked(state))
        return filters.build_at(state).predict(base, inputs, seeds)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        for row, padding in _beta_gradients.rows_of_task(batch):
            given = drift(state, seeds), row, padding, seeds
            state, info = _observe_row(settings, filters, *given)
        betas = {n: np.repeat(state[n], settings.keep, axis=1) for n in ("beta_rlm", "beta_p")}
        return state, info | betas

    return Learner(init, predict, observe, drift=drift)


@dataclass(frozen=True)
class _Filters:
    """F run-length filters over the same learner, each at its own beta_p.

    The state has them as [S, F, K, ...]; they run as repetitions, [S F, K, ...].
    """

    learner: RobustLearner
    settings: run_length.Settings
    problem: Problem

    @property
    def factors(self) -> np.ndarray:
        """Return the factor of beta_p of each filter; with beta_p = 0 there is a single one."""
        return BETA_P_FACTORS if self.learner.beta_p else BETA_P_FACTORS[:1]

    def build_at(self, state: State) -> Learner:
        """Build all filters at the betas of the state."""
        beta_rlm = self.repeated(state["beta_rlm"][:, 0])
        beta_p = (state["beta_p"] * self.factors).ravel()
        no_seeds = np.zeros((len(beta_p), 2), int)  # predictions are not random

        def observe(base: State, row: Batch) -> tuple[State, np.ndarray, np.ndarray]:
            predictive = self.learner.predict(base, row.inputs, no_seeds)
            evidence, gradient = scores(predictive, row.targets, beta_rlm)
            return self.learner.observe_at(base, row, beta_p), evidence, gradient[..., None]

        return _beta_gradients.run_length_with_gradients(
            self.settings, self.problem, self.learner, observe, 1
        )

    def repeated(self, array: np.ndarray) -> np.ndarray:
        """Repeat an array [S, ...] for all filters, [S F, ...]."""
        return np.repeat(array, len(self.factors), axis=0)

    def first(self, base: State) -> State:
        """Select the filter that predicts, [S, ...], from [S F, ...]."""
        return mapped(lambda a: a[:: len(self.factors)], base)

    def packed(self, base: State) -> State:
        """Return the filters' arrays in the shape of the state, [S, F, K, ...]."""
        shaped = mapped(lambda a: a.reshape(-1, len(self.factors), *a.shape[1:]), base)
        return prefixed(shaped, "filter.")

    def unpacked(self, state: State) -> State:
        """Return the filters' arrays in the shape that the learner runs on, [S F, K, ...]."""
        return mapped(lambda a: a.reshape(-1, *a.shape[2:]), part(state, "filter."))


def _observe_row(
    settings: Settings,
    filters: _Filters,
    state: State,
    row: Batch,
    padding: np.ndarray,
    seeds: np.ndarray,
) -> tuple[State, Info]:
    """Update all filters with a row, then the betas; the state has fresh slots."""
    inner, base, seeds = filters.build_at(state), filters.unpacked(state), filters.repeated(seeds)
    rows = Batch(*(filters.repeated(array) for array in row))
    predictive = inner.predict(base, rows.inputs, seeds)
    _, log_joint_gradients = _beta_gradients.split_slots(base)
    gradients = _loss_gradients(predictive, log_joint_gradients, state, row, settings.bound)
    padding = filters.repeated(padding)
    base, info = _beta_gradients.observe_row(inner, base, rows, padding, seeds)
    base, _ = _beta_gradients.centred(base, info, rows.mask)
    state = state | filters.packed(base) | {"count": state["count"] + row.mask}
    learning = row.mask & (state["count"] > settings.first)
    for name, gradient in gradients.items():
        step = np.clip(settings.rate * gradient, -settings.largest_step, settings.largest_step)
        moved = np.clip(state[name] - step, SMALLEST[name], LARGEST)
        state[name] = np.where(learning, moved, state[name])
    return state, filters.first(info)


def _loss_gradients(
    predictive: Predictive,
    log_joint_gradients: np.ndarray,
    state: State,
    row: Batch,
    bound: float,
) -> dict[str, np.ndarray]:
    """Return the gradient [S, 1] of the row's loss in each beta, from all filters' predictions."""
    assert isinstance(predictive, StudentT)
    weight, mean = np.exp(predictive.log_weights), predictive.mean[:, :, 0]
    forecasts = np.einsum("sk,skd->sd", weight, mean)
    weighted = weight * log_joint_gradients[..., 0]
    in_beta_rlm = np.einsum("sk,skd->sd", weighted, mean - forecasts[:, None])
    n_filters = len(forecasts) // len(row.mask)
    forecast, *neighbours = (forecasts[f::n_filters] for f in range(n_filters))
    forecast_gradients = {"beta_rlm": in_beta_rlm[::n_filters]}
    if neighbours:
        width = (BETA_P_FACTORS[1] - BETA_P_FACTORS[2]) * state["beta_p"]
        forecast_gradients["beta_p"] = (neighbours[0] - neighbours[1]) / width
    error = forecast - row.targets[:, 0]
    in_forecast = np.sign(error) * (np.abs(error) < bound) / bound
    return {n: (in_forecast * g).sum(1, keepdims=True) for n, g in forecast_gradients.items()}


def scores(
    predictive: Predictive, targets: np.ndarray, beta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the beta-divergence score [S, H] of one row, and its derivative in beta.

    targets [S, 1, d], beta [S]. The score is (f^beta - 1) / beta - I / (1 + beta), with I the
    integral of f^(1 + beta): the constant 1 / beta is left out, so that a small beta costs no
    digits.
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
    gradient = (beta * log_f * (1 + power) - power) / beta**2
    gradient += integral / (1 + beta) ** 2 - in_integral / (1 + beta)
    return power / beta - integral / (1 + beta), gradient

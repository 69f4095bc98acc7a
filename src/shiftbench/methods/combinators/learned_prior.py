"""Run lengths that learn the noise prior, a0 and b0, of the learner inside from the evidence.

`run_length` with a gradient step on (log a0, log b0) after every row, up the log of the prediction
log p(y_t | y_1:t-1) with run lengths summed out. Its derivative is sum_r w(r) D(r) after the row,
with D the derivatives of the log joints (`_beta_gradients.py`), minus the same sum before. Source:
F. Caron, A. Doucet and R. Gottardo (2012), which knoblauch2018robust uses in its section 5. All
segments share the prior, so running segments move with it: a and b of a slot change by as much as
a0 and b0. Both start at the settings of the learner inside. Knows: as the learner inside, and the
hazard.

State: run_length's as filter.*; a0, b0, count of rows [S, 1].
Info: as run_length; and a0, b0 after the row, [S, K], the same in all slots.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Interval
from scipy.special import psi

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
    part,
    prefixed,
)
from shiftbench.methods.combinators import _beta_gradients, run_length
from shiftbench.methods.online.learnable_betas import RobustLearner

FACTS = Facts(offers=("changes", "run_length"), refuses=("mixed",), from_learner=("density",))

PRIOR = ("a0", "b0")


@dataclass(frozen=True)
class Settings:
    hazard: Annotated[float, Interval(gt=0, lt=1)] = 0.01
    """Probability that a segment ends before an observation, as in run-length."""
    keep: Annotated[int, Ge(1)] = 50
    """Number K of (run length, model) pairs that are kept, as in run-length."""
    rate: Annotated[float, Gt(0)] = 0.01
    """Learning rate of (log a0, log b0)."""
    largest_step: Annotated[float, Gt(0)] = 0.05
    """Bound of a step of log a0 and log b0."""
    first: Annotated[int, Ge(0)] = 0
    """Number of rows before a0 and b0 are learnt."""


def work(settings, problem):
    """Return the problem inside, for a forecast: that of each run length that is kept."""
    return problem.repeated(min(settings["keep"], max(problem.tasks, 1)))


def build(settings: Settings, problem: Problem, learner: Learner) -> Learner:
    """Build run lengths with a learnt prior over `bayes-linear` with both betas 0.

    Raises LearnerError for other learners, or for a beta above 0: a robust score is not a density.
    """
    if not isinstance(learner, RobustLearner) or (learner.beta_p, learner.beta_rlm) != (0, 0):
        raise LearnerError(
            "learned-prior: needs bayes-linear with beta_p = beta_rlm = 0; the prior is learnt"
            " from the log density, which the robust version does not have"
        )
    inside, keep = learner, settings.keep

    def filter_at(state: State) -> Learner:
        """Build the run lengths whose segments start from the state's a0 and b0."""

        def init(seeds: np.ndarray) -> State:
            return inside.with_scale(inside.init(seeds), state["a0"], state["b0"])

        return _beta_gradients.run_length_with_gradients(
            run_length.Settings(settings.hazard, keep),
            problem,
            replace(inside, init=init),
            partial(_observe_with_gradient, inside),
            2,
        )

    def init(seeds: np.ndarray) -> State:
        a, b = inside.scale(inside.init(seeds))
        state = {"a0": a[:, :1], "b0": b[:, :1], "count": np.zeros((len(seeds), 1))}
        return state | prefixed(filter_at(state).init(seeds), "filter.")

    def drift(state: State, seeds: np.ndarray) -> State:
        base = part(state, "filter.")
        base = _beta_gradients.with_fresh_slots(filter_at(state), base, keep, seeds)
        return state | prefixed(base, "filter.")

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        return filter_at(state).predict(part(state, "filter."), inputs, seeds)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        for row, padding in _beta_gradients.rows_of_task(batch):
            state = drift(state, seeds)
            given = part(state, "filter."), row, padding, seeds
            base, info = _beta_gradients.observe_row(filter_at(state), *given)
            base, gradient = _beta_gradients.centred(base, info, row.mask)
            state = _ascend(settings, inside, state, base, gradient, row.mask)
        return state, info | {name: np.repeat(state[name], keep, axis=1) for name in PRIOR}

    return Learner(init, predict, observe, drift=drift)


def _observe_with_gradient(
    learner: RobustLearner, state: State, row: Batch
) -> tuple[State, np.ndarray, np.ndarray]:
    """Return the state after a row, its log evidence, and the gradient of that in (a0, b0)."""
    no_seeds = np.zeros((len(row.mask), 2), int)  # the learner is not random
    predictive = learner.predict(state, row.inputs, no_seeds)
    gradient = prior_gradient(predictive, row.targets, learner.scale(state)[1])
    state, info = learner.observe(state, row, no_seeds)
    return state, info["log_evidence"], gradient


def _ascend(
    settings: Settings,
    learner: RobustLearner,
    state: State,
    base: State,
    gradient: np.ndarray,
    seen: np.ndarray,
) -> State:
    """Return the state after a step up the gradient [S, 2] in (a0, b0); base: the run lengths'."""
    count = state["count"] + seen
    learning = seen & (count > settings.first)
    after = {"count": count}
    for j, name in enumerate(PRIOR):
        step = settings.rate * state[name] * gradient[:, j : j + 1]
        factor = np.exp(np.clip(step, -settings.largest_step, settings.largest_step))
        after[name] = np.where(learning, state[name] * factor, state[name])
    inside, _ = _beta_gradients.split_slots(base)
    a, b = learner.scale(inside)
    moved = learner.with_scale(
        inside, a + (after["a0"] - state["a0"]), b + (after["b0"] - state["b0"])
    )
    return state | prefixed(base | prefixed(moved, "base."), "filter.") | after


def prior_gradient(predictive: Predictive, targets: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the gradient [S, H, 2] in (a0, b0) of a row's log density; targets [S, 1, d].

    The prediction has df 2 a and scale (b / a) R; a and b [S, H] are a0 and b0 plus constants.
    """
    assert isinstance(predictive, StudentT)
    a, d = 0.5 * predictive.df, targets.shape[-1]
    residual = targets[:, :, :, None] - predictive.mean[:, :, 0, :, None]
    solved = np.linalg.solve(predictive.scale[:, :, 0], residual)
    ratio = (residual * solved).sum(axis=(2, 3)) / predictive.df
    in_a = psi(a + 0.5 * d) - psi(a) - np.log1p(ratio)
    in_b = ((a + 0.5 * d) * ratio / (1 + ratio) - 0.5 * d) / b
    return np.stack([in_a, in_b], axis=-1)

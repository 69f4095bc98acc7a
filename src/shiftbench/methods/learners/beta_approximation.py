"""Bayesian linear regression with fitted beta posteriors, and how near they are to the exact ones.

What `bayes-linear` with beta_p approximates its posterior with, but fitted on all rows after each
task, for several beta_p at once: one hypothesis each, in equal parts in a prediction. Source:
knoblauch2018robust, section 4 and Fig. 2B. Before it learns a task it draws from each fit and
weighs the draws by the exact density (`methods/posteriors/closeness.py`); the first row of the task
is the one whose prediction is judged.

State, [S, H, ...]: x [N, d, p], y [N, d], count of rows; fit [2 + p + p p], the approximation (a,
b, m, L with Sigma = L L'). Info, [S, H], of the fits before the task, NaN before any row:
predictive, weights (k-hat), effective, learnt (shares), see `Closeness`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, MinLen

from shiftbench.core import seeds as seeding
from shiftbench.core.interface import Batch, Info, Learner, LearnerError, Problem, State, StudentT
from shiftbench.methods.posteriors import beta_exact, normal_inverse_gamma
from shiftbench.methods.posteriors.closeness import Closeness, closeness

NEEDS: tuple[str, ...] = ()
MODEL = False
TAKES = {"design": "student-t"}
OFFERS = ("closeness",)


@dataclass(frozen=True)
class Settings:
    a0: Annotated[float, Gt(0)] = 3.0
    """Shape of the prior of s2; 3 in Fig. 1B."""
    b0: Annotated[float, Gt(0)] = 5.0
    """Scale of the prior of s2; 5 in Fig. 1B."""
    prior_mean: float = 0.0
    """Mean of the prior of every coefficient."""
    prior_variance: Annotated[float, Gt(0)] = 100.0
    """Prior variance of a coefficient in units of s2; 100 in Fig. 1B."""
    betas: Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)] = (0.05, 0.2)
    """The beta_p of each hypothesis."""
    draws: Annotated[int, Ge(25)] = 2000
    """Draws from each approximation."""


def build(settings: Settings, problem: Problem, model: None = None) -> Learner:
    """The learner of problem.n_outputs targets on designs of input_shape (1, d, p).

    LearnerError for other inputs.
    """
    d, p = _shape(problem)
    prior = beta_exact.Prior(settings.a0, settings.b0, settings.prior_mean, settings.prior_variance)
    capacity = problem.n_tasks * problem.n_train

    def init(seeds: np.ndarray) -> State:
        size = (len(seeds), len(settings.betas))
        return {
            "x": np.zeros((*size, capacity, d, p)),
            "y": np.zeros((*size, capacity, d)),
            "count": np.zeros(size, np.int64),
            "fit": np.tile(prior.approximation(p).packed(), (*size, 1)),
        }

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> StudentT:
        fit = state["fit"]
        designs = np.repeat(inputs[:, None, :, 0], fit.shape[1], axis=1)
        root = fit[..., 2 + p :].reshape(*fit.shape[:2], p, p)
        return normal_inverse_gamma.prediction(
            designs, fit[..., 0], fit[..., 1], fit[..., 2 : 2 + p], root
        )

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        after = {name: array.copy() for name, array in state.items()}
        info = {name: np.full(state["count"].shape, np.nan) for name in Closeness._fields}
        for s, h in np.ndindex(*state["count"].shape):
            first, last = _append(after, batch, s, h)
            if first == last:
                continue
            beta, x, y = settings.betas[h], after["x"][s, h], after["y"][s, h]
            if first:
                before = beta_exact.Approximation.unpacked(state["fit"][s, h])
                known = x[: first + 1], y[: first + 1]
                random = seeding.generator(seeding.fold_each(seeds[s : s + 1], "draws")[0])
                found = closeness(prior, beta, before, *known, settings.draws, random)
                for name, value in found._asdict().items():
                    info[name][s, h] = value
            after["fit"][s, h] = beta_exact.approximation(prior, beta, x[:last], y[:last]).packed()
        return after, info

    return Learner(init, predict, observe)


def _shape(problem: Problem) -> tuple[int, int]:
    """d and p."""
    shape = problem.input_shape
    if problem.kind != "regression" or len(shape) != 3 or shape[:2] != (1, problem.n_outputs):
        raise LearnerError(
            "beta-approximation: needs real targets and one design of shape (1, targets,"
            " regressors) for each row, as the stream family series has; the inputs here are"
            f" {shape}"
        )
    return shape[1], shape[2]


def _append(state: State, batch: Batch, s: int, h: int) -> tuple[int, int]:
    """Puts the rows that are seen behind those of a hypothesis, in place; their numbers' range."""
    seen = batch.mask[s]
    first = int(state["count"][s, h])
    last = first + int(seen.sum())
    state["x"][s, h, first:last] = batch.inputs[s, seen, 0]
    state["y"][s, h, first:last] = batch.targets[s, seen]
    state["count"][s, h] = last
    return first, last

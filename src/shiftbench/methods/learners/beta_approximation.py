"""Bayesian linear regression with fitted beta posteriors, checked against the exact ones.

The approximation of `bayes-linear` with beta_p, fitted to all rows after each task, for several
beta_p at once: each is one hypothesis, and all have equal weights in a prediction. Among
normal-inverse-gammas q it minimises

    KL(q, beta posterior of all rows).

Source: knoblauch2018robust, section 4 and Fig. 2B. Before a task is learnt, each fit is sampled and
the draws are weighed by the exact density (`posteriors/closeness.py`); the prediction that is
judged is that of the task's first row. Knows: the prior and the betas.

State, [S, H, ...]: x [N, d, p], y [N, d], count of rows; fit [2 + p + p p], the approximation (a,
b, m, L with Sigma = L L').
Info, [S, H], of the fits before the task, NaN before any row: predictive, weights (k-hat),
effective, learnt (shares), see `Closeness`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, MinLen

from shiftbench.core import seeds as seeding
from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Info, Learner, Problem, State, StudentT
from shiftbench.methods.online import stored_rows
from shiftbench.methods.posteriors import beta_exact, normal_inverse_gamma
from shiftbench.methods.posteriors.closeness import Closeness, closeness

FACTS = Facts(takes={"design": "student-t"}, offers=("closeness",))


@dataclass(frozen=True)
class Settings:
    a0: Annotated[float, Gt(0)] = 3.0
    """Shape of the prior of s2 (Fig. 1B: 3)."""
    b0: Annotated[float, Gt(0)] = 5.0
    """Scale of the prior of s2 (Fig. 1B: 5)."""
    prior_mean: float = 0.0
    """Prior mean of every coefficient."""
    prior_variance: Annotated[float, Gt(0)] = 100.0
    """Prior variance of a coefficient in units of s2 (Fig. 1B: 100)."""
    betas: Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)] = (0.05, 0.2)
    """Values of beta_p, one for each hypothesis."""
    draws: Annotated[int, Ge(25)] = 2000
    """Number of draws from each approximation."""


def rows_kept(settings: Settings, problem: Problem) -> tuple[int, int]:
    """Return how many rows it keeps of a whole stream, and the numbers of a row."""
    return stored_rows.kept(problem)


def build(settings: Settings, problem: Problem, model: None = None) -> Learner:
    """Build the learner of d targets on designs of input_shape (1, d, p).

    Raises LearnerError for other inputs.
    """
    d, p = stored_rows.design_shape("beta-approximation", problem)
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
            first, last = stored_rows.append(after, batch, s, h)
            if first == last:
                continue
            beta, x, y = settings.betas[h], after["x"][s, h], after["y"][s, h]
            if first:
                fit = beta_exact.Approximation.unpacked(state["fit"][s, h])
                rows = x[: first + 1], y[: first + 1]
                random = seeding.generator(seeding.fold_each(seeds[s : s + 1], "draws")[0])
                result = closeness(prior, beta, fit, *rows, settings.draws, random)
                for name, value in result._asdict().items():
                    info[name][s, h] = value
            after["fit"][s, h] = beta_exact.approximation(prior, beta, x[:last], y[:last]).packed()
        return after, info

    return Learner(init, predict, observe)

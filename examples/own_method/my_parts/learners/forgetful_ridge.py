"""Linear regression that forgets: of older rows each counts a little less (NumPy).

The precision A and the vector b of ridge regression decay towards those of the prior before each
row: A <- f A + (1 - f) I / v, b <- f b. With forget 1 it is Bayesian linear regression.

State: precision [S, 1, d, d], vector [S, 1, d]. Info: none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Gt, Interval
from my_parts.gaussians import moments

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Gaussian, Info, Learner, Problem, State

FACTS = Facts(takes={"number": "gaussian"})


@dataclass(frozen=True)
class Settings:
    forget: Annotated[float, Interval(gt=0, le=1)] = 0.9
    """What is kept of the older rows from one task to the next, f."""
    noise_sd: Annotated[float, Gt(0)] = 0.3
    """Standard deviation of the target."""
    prior_sd: Annotated[float, Gt(0)] = 3.0
    """Standard deviation of the weights before any row."""


def build(settings: Settings, problem: Problem, model: None = None) -> Learner:
    """The learner for rows of problem.input_shape features."""
    (d,) = problem.input_shape
    prior = np.eye(d) / settings.prior_sd**2
    variance = settings.noise_sd**2

    def init(seeds: np.ndarray) -> State:
        size = len(seeds), 1
        return {"precision": np.tile(prior, (*size, 1, 1)), "vector": np.zeros((*size, d))}

    def drift(state: State, seeds: np.ndarray) -> State:
        kept = settings.forget
        return {
            "precision": kept * state["precision"] + (1 - kept) * prior,
            "vector": kept * state["vector"],
        }

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Gaussian:
        mean, spread = moments(state["precision"], state["vector"], inputs)
        return Gaussian(np.zeros(mean.shape[:2]), mean[..., None], (spread + variance)[..., None])

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        x = np.where(batch.mask[..., None], batch.inputs, 0)
        y = np.where(batch.mask, batch.targets[..., 0], 0)
        squares = np.einsum("snd,sne->sde", x, x) / variance
        products = np.einsum("snd,sn->sd", x, y) / variance
        return {
            "precision": state["precision"] + squares[:, None],
            "vector": state["vector"] + products[:, None],
        }, {}

    return Learner(init, predict, observe, drift)

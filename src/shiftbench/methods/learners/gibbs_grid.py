"""Gibbs posterior on a grid: the exact reference of the online variational learners.

Source: cherief2019online, "Bayesian learning", with prior N(0, s^2 I) and loss l_t:

    log pi_{t+1} = log pi_t - eta l_t + constant.

In one or two dimensions the grid represents any shape of posterior. Knows: the loss.

State: log_weight [S, H, G], normalised, of the points of the grid.
Info, [S, H], sums over rows, of the posterior before each row: loss at its mean, expected_loss,
score_sd, log_evidence = log E exp(-eta l).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt
from scipy.special import logsumexp

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Gaussian, Info, Learner, LearnerError, Problem, State
from shiftbench.methods.online import linear, losses

FACTS = Facts(
    takes={"two-classes": "score", "number": "score"},
    offers=("log_evidence", "loss"),
    requires=("plane",),
    refuses={"number": {"loss": ("hinge",)}, "two-classes": {"loss": ("squared", "absolute")}},
    theorem="classical",
)


@dataclass(frozen=True)
class Settings:
    loss: Literal["auto", "hinge", "squared", "absolute"] = "auto"
    """Loss of a row; auto: hinge for two classes, squared for one real target."""
    step_size: Annotated[float, Ge(0)] = 0.0
    """Step size eta; 0 stands for 1 / sqrt(T), with T the number of tasks."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation s of the prior N(0, s^2 I)."""
    points: Annotated[int, Ge(3)] = 201
    """Number of grid points on each axis."""
    reach: Annotated[float, Gt(0)] = 6.0
    """Half width of the grid, in prior standard deviations."""


def build(settings: Settings, problem: Problem, model: None = None) -> Learner:
    """Build the posterior over a linear predictor; LearnerError for more than two features."""
    kind = linear.loss_kind("gibbs-grid", settings.loss, problem)
    loss = losses.Loss(kind)
    d = int(np.prod(problem.input_shape))
    if d not in (1, 2):
        raise LearnerError(
            f"gibbs-grid: computes one or two features exactly, but the stream has {d}; use one"
            " of the variational learners"
        )
    eta = settings.step_size or problem.n_tasks**-0.5
    theta = _grid(settings, d)
    log_prior = -0.5 * (theta**2).sum(axis=1) / settings.prior_sd**2
    log_prior = log_prior - logsumexp(log_prior)

    def init(seeds: np.ndarray) -> State:
        return {"log_weight": np.tile(log_prior, (len(seeds), 1, 1))}

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Gaussian:
        weight = np.exp(state["log_weight"])
        score = linear.features(inputs) @ theta.T
        mean = np.einsum("shg,sng->shn", weight, score)
        square = np.einsum("shg,sng->shn", weight, score**2)
        s, h = mean.shape[:2]
        variance = np.maximum(square - mean**2, 0.0)
        return Gaussian(np.full((s, h), -np.log(h)), mean[..., None], variance[..., None])

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        score = linear.checked_features("gibbs-grid", batch) @ theta.T
        y = linear.targets("gibbs-grid", batch, losses.CODES[kind])
        log_weight, total = state["log_weight"], dict[str, np.ndarray]()
        for i in range(y.shape[1]):
            seen = batch.mask[:, i, None]
            cost = np.where(seen, loss.value(y[:, i, None], score[:, i]), 0.0)[:, None]
            updated = log_weight - eta * cost
            log_evidence = logsumexp(updated, axis=2, keepdims=True)
            info = _losses(log_weight, score[:, None, i], cost, loss, y[:, None, i])
            info["log_evidence"] = log_evidence[..., 0]
            total = {k: total.get(k, 0.0) + np.where(seen, a, 0.0) for k, a in info.items()}
            log_weight = updated - log_evidence
        return {"log_weight": log_weight}, total

    return Learner(init, predict, observe)


def _grid(settings: Settings, d: int) -> np.ndarray:
    """Return the points [G, d] of the grid."""
    axis = np.linspace(-1, 1, settings.points) * settings.reach * settings.prior_sd
    return np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, d)


def _losses(
    log_weight: np.ndarray, score: np.ndarray, cost: np.ndarray, loss: losses.Loss, y: np.ndarray
) -> Info:
    """Return losses [S, H] of a posterior on a row; score and cost [S, 1, G], y [S, 1]."""
    weight = np.exp(log_weight)
    mean = (weight * score).sum(axis=2)
    spread = (weight * (score - mean[..., None]) ** 2).sum(axis=2)
    return {
        "loss": loss.value(y, mean),
        "expected_loss": (weight * cost).sum(axis=2),
        "score_sd": np.sqrt(spread),
    }

"""Gaussian mean with known noise: the conjugate posterior, exact.

Source: li2021vbs, C.1 (with s = 0 the Kalman update of Algorithm 1, exact), for the toy stream.
Knows: the noise level.

State: mean, variance [S, H, d] of the posterior over the d means.
Info: log_evidence [S, H], exact, in nats; posterior_mean, posterior_variance [S, H, d].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Gt

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Broadening, Gaussian, Info, Learner, Problem, State
from shiftbench.methods.posteriors import mean_field_gaussian

FACTS = Facts(
    takes={"value": "gaussian", "number": "gaussian", "design": "gaussian", "designs": "gaussian"},
    offers=("broaden", "log_evidence", "level"),
)


@dataclass(frozen=True)
class Settings:
    noise_sd: Annotated[float, Gt(0)] = 0.5
    """Standard deviation of an observation around the mean."""
    prior_mean: float = 0.0
    """Prior mean of the level."""
    prior_variance: Annotated[float, Gt(0)] = 1.0
    """Prior variance of the level (li2021vbs: 1 in Algorithm 1, 9999 in its code)."""


def build(settings: Settings, problem: Problem, model: None = None) -> Learner:
    """Build the learner of d = problem.n_outputs independent means."""
    noise = settings.noise_sd**2
    d = problem.n_outputs

    def init(seeds: np.ndarray) -> State:
        shape = (len(seeds), 1, d)
        return {
            "mean": np.full(shape, settings.prior_mean),
            "variance": np.full(shape, settings.prior_variance),
        }

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Gaussian:
        s, h = state["mean"].shape[:2]
        shape = (s, h, inputs.shape[1], d)
        return Gaussian(
            np.full((s, h), -np.log(h)),
            np.broadcast_to(state["mean"][:, :, None], shape),
            np.broadcast_to(state["variance"][:, :, None] + noise, shape),
        )

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        mean, variance, evidence = _update(state, batch, noise)
        info = {"log_evidence": evidence, "posterior_mean": mean, "posterior_variance": variance}
        return {"mean": mean, "variance": variance}, info

    def broaden(state: State, broadening: Broadening) -> State:
        mean, variance = mean_field_gaussian.broaden(
            state["mean"],
            state["variance"],
            broadening,
            settings.prior_mean,
            settings.prior_variance,
        )
        return {"mean": mean, "variance": variance}

    return Learner(init, predict, observe, broaden=broaden)


def _update(state: State, batch: Batch, noise: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Update the posterior with a batch: mean, variance [S, H, d], log evidence [S, H]."""
    mean, variance = state["mean"], state["variance"]
    weight = batch.mask[:, None, :, None].astype(float)
    count = weight.sum(axis=2)
    residual = (batch.targets[:, None] - mean[:, :, None]) * weight
    total = residual.sum(axis=2)
    precision = 1.0 / variance + count / noise
    # Marginal likelihood of n values with common N(0, v) plus independent N(0, noise).
    shrunk = total**2 * variance / (noise * (noise + count * variance))
    quadratic = (residual**2).sum(axis=2) / noise - shrunk
    log_det = count * np.log(2 * np.pi * noise) + np.log1p(count * variance / noise)
    evidence = -0.5 * (quadratic + log_det).sum(axis=2)
    return mean + total / noise / precision, 1.0 / precision, evidence

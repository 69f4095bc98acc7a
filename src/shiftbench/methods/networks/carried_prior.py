"""The prior of a task for mean-field posteriors over weights, and its broadening.

It is the posterior so far, the first prior, or the merged Gaussian of all posteriors so far
(`posteriors/merged_gaussian.py`). Parameters that are points have sd 0.

State: mean, sd [S, H, P] of the posterior so far; with a merged prior also its sums.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from shiftbench.core.interface import Broadening, State
from shiftbench.methods.networks.mean_field import MeanField
from shiftbench.methods.posteriors import mean_field_gaussian, merged_gaussian


class CarriedPrior(NamedTuple):
    """The rule for priors.

    kind: carried or first. sd: standard deviation of the first prior, which has mean zero.
    bayesian: [P], 0 for points. merge: the weight of each earlier posterior relative to the next;
    0 for the newest alone.
    """

    kind: Literal["carried", "first"]
    sd: float
    bayesian: np.ndarray
    merge: float


def first_state(rule: CarriedPrior, repetitions: int) -> State:
    """Return the state before the first task, for a number S of repetitions."""
    shape = (repetitions, 1, len(rule.bayesian))
    mean = np.zeros(shape, np.float32)
    sd = np.broadcast_to(rule.sd * rule.bayesian, shape)
    state = {"mean": mean, "sd": np.ascontiguousarray(sd, np.float32)}
    return state | merged_gaussian.begin(mean, _precision(state["sd"])) if rule.merge else state


def of_task(rule: CarriedPrior, state: State) -> MeanField:
    """Return the prior of the next task."""
    if rule.kind == "first":
        first = np.broadcast_to(np.float32(rule.sd) * rule.bayesian, state["sd"].shape)
        return MeanField(np.zeros_like(state["mean"]), first)
    if not rule.merge:
        return MeanField(state["mean"], state["sd"])
    mean, precision = merged_gaussian.moments(state)
    sd = np.where(state["sd"] == 0, 0, precision**-0.5)
    return MeanField(mean.astype(np.float32), sd.astype(np.float32))


def after_task(rule: CarriedPrior, state: State, mean: np.ndarray, sd: np.ndarray) -> State:
    """Return the state with the posterior of a task; state: that before the task."""
    posterior = {"mean": mean, "sd": sd}
    if not rule.merge:
        return posterior
    return posterior | merged_gaussian.added(state, rule.merge, mean, _precision(sd))


def broadened(rule: CarriedPrior, state: State, broadening: Broadening) -> State:
    """Broaden the posterior so far as a normal one, whatever its family, and the merged prior."""
    points = state["sd"] == 0
    variance = np.where(points, 1.0, state["sd"].astype(np.float64) ** 2)
    mean, variance = mean_field_gaussian.broaden(
        state["mean"], variance, broadening, 0.0, rule.sd**2
    )
    broad = {
        "mean": np.where(points, state["mean"], mean).astype(np.float32),
        "sd": np.where(points, 0.0, np.sqrt(variance)).astype(np.float32),
    }
    return broad | merged_gaussian.broadened(state, broadening, rule.sd**2) if rule.merge else broad


def _precision(sd: np.ndarray) -> np.ndarray:
    """Return precisions; points, for which they do not count, have 1."""
    return np.where(sd == 0, 1.0, sd.astype(np.float64)) ** -2

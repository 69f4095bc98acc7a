"""Online gradient algorithm on the expected loss of a mean-field Gaussian (OGA-EL).

Source: Algorithm 3 of the paper behind cherief2019online (OGA-EL in its figures), with steps in
units of the prior:

    m <- m - eta s^2 grad_m,    sd <- sd - eta s^2 grad_sd,    projected to the box and [0, s].

The paper has s = 1. Convex losses only lower sd, so that the bound s binds only after a combinator
broadened it. Knows: the loss and, for the default step size, the number of tasks.

State and Info: see `methods/online/linear.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge
from numba import cfunc

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Learner, Problem
from shiftbench.methods.online import linear, network
from shiftbench.methods.online.settings import DRAWN, GaussianSettings, lacks_draws

FACTS = Facts(
    takes={"two-classes": "score", "number": "score"},
    offers={"broaden": {"loss_draws": (0,)}, "log_evidence": True, "loss": {"loss_draws": (0,)}},
    refuses={"number": {"loss": ("hinge",)}, "two-classes": {"loss": ("squared", "absolute")}},
    theorem={"gradient of the expected loss": {"loss_draws": (0,)}},
)


@dataclass(frozen=True)
class Settings(GaussianSettings):
    step_size: Annotated[float, Ge(0)] = 0.0
    """Step size eta; 0 stands for the paper's 1 / sqrt(T), with T the number of tasks."""


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings exclude each other, with its remedy."""
    if lacks_draws(settings):
        yield DRAWN


def build(settings: Settings, problem: Problem, model: None = None) -> Learner:
    """Build OGA-EL for a linear predictor or a network; LearnerError if the loss does not fit."""
    s = settings.prior_sd
    constants = [(settings.step_size or problem.n_tasks**-0.5) * s**2, s]
    draws = settings.loss_draws
    return network.learner("oga-el", settings, problem, _update, constants, draws=draws)


@cfunc(linear.UPDATE, cache=True)
def _update(mean, sd, extra, gradient, curvature, t, settings):
    """Take one gradient step of mean and sd, in place; see `linear.UPDATE` for the arguments."""
    eta, s = settings
    for j in range(mean.size):
        mean[j] -= eta * gradient[j]
        sd[j] = min(max(sd[j] * (1 - eta * curvature[j]), 0.0), s)

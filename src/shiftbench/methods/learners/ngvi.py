"""Natural-gradient variational inference, one step for each row.

Source: cherief2019online (last slides) and its paper, after Khan and Nielsen (2018): a gradient
step in the expectation parameters moves the natural ones. For a mean-field Gaussian with precision
P = 1 / sd^2

    P <- (1 - b) P + b / s^2 + rho grad_sd / sd,    m <- m - (b m / s^2 + rho grad_m) / P.

b is the forgetting towards the prior, rho the step of the loss (b eta in the paper). The slides
omit the prior and have a wrong sign. The paper says "eta_t = 1" and gives no b; rho = 1 without
forgetting is the best choice on its toy data. No regret bound exists, because the loss is not
convex in these parameters. Expected losses in closed form have grad_sd >= 0. An estimate by draws
may be negative, g in place of rho grad_sd / sd; then P <- P + g + g^2 / (2 P), a retraction (Lin,
Schmidt and Khan 2020) that keeps P positive. Knows: the loss.

State and Info: see `methods/online/linear.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Gt, Interval
from numba import cfunc

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Learner, Problem
from shiftbench.methods.online import linear, network
from shiftbench.methods.online.settings import DRAWN, GaussianSettings, lacks_draws

FACTS = Facts(
    takes={"two-classes": "score", "number": "score"},
    offers={"broaden": {"loss_draws": (0,)}, "log_evidence": True, "loss": {"loss_draws": (0,)}},
    refuses={"number": {"loss": ("hinge",)}, "two-classes": {"loss": ("squared", "absolute")}},
)


@dataclass(frozen=True)
class Settings(GaussianSettings):
    rho: Annotated[float, Gt(0)] = 1.0
    """Step size rho of the loss."""
    forgetting: Annotated[float, Interval(ge=0, lt=1)] = 0.0
    """Weight b of the prior in each step."""


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings exclude each other, with its remedy."""
    if lacks_draws(settings):
        yield DRAWN
    if settings.hidden and settings.forgetting:
        yield "forgetting moves a network to 0, where it has no gradients; set forgetting: 0"


def build(settings: Settings, problem: Problem, model: None = None) -> Learner:
    """Build NGVI for a linear predictor or a network; LearnerError if the loss does not fit."""
    constants = [settings.forgetting, settings.rho, settings.prior_sd**-2]
    return network.learner("ngvi", settings, problem, _update, constants, draws=settings.loss_draws)


@cfunc(linear.UPDATE, cache=True)
def _update(mean, sd, extra, gradient, curvature, t, settings):
    """Take one natural-gradient step, in place; see `linear.UPDATE` for the arguments."""
    b, rho, prior = settings
    for j in range(mean.size):
        kept, step = (1 - b) / (sd[j] * sd[j]) + b * prior, rho * curvature[j]
        precision = kept + step
        if step < 0:
            precision += 0.5 * step * step / kept
        mean[j] -= (b * prior * mean[j] + rho * gradient[j]) / precision
        sd[j] = 1 / math.sqrt(precision)

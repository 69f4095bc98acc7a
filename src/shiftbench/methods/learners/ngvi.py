"""Natural-gradient variational inference, one step for each row.

Source: cherief2019online (last slides) and its paper, after Khan and Nielsen (2018): a gradient
step in the expectation parameters moves the natural ones. For a mean-field Gaussian with precision
P = 1 / sd^2

    P <- (1 - b) P + b / s^2 + rho grad_sd / sd,    m <- m - (b m / s^2 + rho grad_m) / P.

b is the forgetting towards the prior, rho the step of the loss (b eta in the paper). The slides
omit the prior and have a wrong sign. The paper says "eta_t = 1" and gives no b; rho = 1 without
forgetting is the best choice on its toy data. No regret bound exists, because the loss is not
convex in these parameters. The expected losses here have grad_sd >= 0, so P stays positive. Knows:
the loss.

State and Info: see `methods/online/linear.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Interval
from numba import cfunc

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Learner, Problem
from shiftbench.methods.online import linear

FACTS = Facts(
    takes={"two-classes": "score", "number": "score"},
    offers=("broaden", "log_evidence", "loss"),
    refuses={"number": {"loss": ("hinge",)}, "two-classes": {"loss": ("squared", "absolute")}},
)


@dataclass(frozen=True)
class Settings:
    loss: Literal["auto", "hinge", "squared", "absolute"] = "auto"
    """Loss of a row; auto: hinge for two classes, squared for one real target."""
    rho: Annotated[float, Gt(0)] = 1.0
    """Step size rho of the loss."""
    forgetting: Annotated[float, Interval(ge=0, lt=1)] = 0.0
    """Weight b of the prior in each step."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation s of the prior N(0, s^2 I); start value of sd."""
    bound: Annotated[float, Gt(0)] = 20.0
    """Half width of the box [-bound, bound]^d that the mean is projected to (paper: 20)."""
    ridge: Annotated[float, Ge(0)] = 0.0
    """Factor H of H / 2 |theta|^2, which is added to every loss and makes it H-strongly convex."""


def build(settings: Settings, problem: Problem, model: None = None) -> Learner:
    """Build NGVI for a linear predictor; LearnerError if loss and targets do not fit."""
    constants = [settings.forgetting, settings.rho, settings.prior_sd**-2]
    return linear.learner("ngvi", settings, problem, _update, constants)


@cfunc(linear.UPDATE, cache=True)
def _update(mean, sd, extra, gradient, curvature, t, settings):
    """Take one natural-gradient step, in place; see `linear.UPDATE` for the arguments."""
    b, rho, prior = settings
    for j in range(mean.size):
        precision = (1 - b) / (sd[j] * sd[j]) + b * prior + rho * curvature[j]
        mean[j] -= (b * prior * mean[j] + rho * gradient[j]) / precision
        sd[j] = 1 / math.sqrt(precision)

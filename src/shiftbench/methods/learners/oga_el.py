"""Online gradient algorithm on the expected loss of a mean-field Gaussian (OGA-EL).

Source: Algorithm 3 of the paper behind cherief2019online (OGA-EL in its figures), with steps in
units of the prior:

    m <- m - eta s^2 grad_m,    sd <- sd - eta s^2 grad_sd,    projected to the box and sd >= 0.

The paper's upper bound of sd, 1, never binds: the losses are convex, so sd only falls. Knows: the
loss and, for the default step size, the number of tasks.

State and Info: see `methods/online/linear.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt
from numba import cfunc

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Learner, Problem
from shiftbench.methods.online import linear

FACTS = Facts(
    takes={"two-classes": "score", "number": "score"},
    offers=("broaden", "log_evidence", "loss"),
    refuses={"number": {"loss": ("hinge",)}, "two-classes": {"loss": ("squared", "absolute")}},
    theorem="gradient of the expected loss",
)


@dataclass(frozen=True)
class Settings:
    loss: Literal["auto", "hinge", "squared", "absolute"] = "auto"
    """Loss of a row; auto: hinge for two classes, squared for one real target."""
    step_size: Annotated[float, Ge(0)] = 0.0
    """Step size eta; 0 stands for the paper's 1 / sqrt(T), with T the number of tasks."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation s of the prior N(0, s^2 I); start value of sd."""
    bound: Annotated[float, Gt(0)] = 20.0
    """Half width of the box [-bound, bound]^d that the mean is projected to (paper: 20)."""
    ridge: Annotated[float, Ge(0)] = 0.0
    """Factor H of H / 2 |theta|^2, which is added to every loss and makes it H-strongly convex."""


def build(settings: Settings, problem: Problem, model: None = None) -> Learner:
    """Build OGA-EL for a linear predictor; LearnerError if loss and targets do not fit."""
    eta = (settings.step_size or problem.n_tasks**-0.5) * settings.prior_sd**2
    return linear.learner("oga-el", settings, problem, _update, [eta])


@cfunc(linear.UPDATE, cache=True)
def _update(mean, sd, extra, gradient, curvature, t, settings):
    """Take one gradient step of mean and sd, in place; see `linear.UPDATE` for the arguments."""
    eta = settings[0]
    for j in range(mean.size):
        mean[j] -= eta * gradient[j]
        sd[j] = max(sd[j] * (1 - eta * curvature[j]), 0.0)

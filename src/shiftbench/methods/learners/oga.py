"""Online gradient algorithm (OGA): one gradient step on the loss of each row.

Source: cherief2019online, "Online gradient algorithm": theta <- theta - eta grad l_t(theta),
projected to the box. It is the baseline of the online variational learners and has no posterior: sd
stays 0. Knows: the loss and, for the default step size, the number of tasks.

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
    offers=("log_evidence", "loss"),
    refuses={"number": {"loss": ("hinge",)}, "two-classes": {"loss": ("squared", "absolute")}},
    theorem="gradient",
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
    """Build OGA for a linear predictor; LearnerError if loss and targets do not fit."""
    eta = settings.step_size or problem.n_tasks**-0.5
    return linear.learner("oga", settings, problem, _update, [eta], spread=False)


@cfunc(linear.UPDATE, cache=True)
def _update(mean, sd, extra, gradient, curvature, t, settings):
    """Take one gradient step of the mean, in place; see `linear.UPDATE` for the arguments."""
    for j in range(mean.size):
        mean[j] -= settings[0] * gradient[j]

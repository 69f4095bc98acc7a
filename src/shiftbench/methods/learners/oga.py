"""Online gradient algorithm: one gradient step on the loss of each row.

Source: cherief2019online ("Online gradient algorithm"): theta <- theta - eta grad l_t(theta), kept
in the box. The baseline of the online variational learners: no posterior, sd stays 0.

State and Info: `methods/online/linear.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt
from numba import cfunc

from shiftbench.core.interface import Learner, Problem
from shiftbench.methods.online import linear

NEEDS: tuple[str, ...] = ()
MODEL = False
TAKES = {"two-classes": "score", "number": "score"}
REFUSES = {"number": {"loss": ("hinge",)}, "two-classes": {"loss": ("squared", "absolute")}}
OFFERS = ("log_evidence", "loss")
THEOREM = "gradient"


@dataclass(frozen=True)
class Settings:
    loss: Literal["auto", "hinge", "squared", "absolute"] = "auto"
    """auto: hinge for two classes, squared for one real target."""
    step_size: Annotated[float, Ge(0)] = 0.0
    """eta; 0 is 1 / sqrt(T), the paper's, with T the number of tasks."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation s of the prior N(0, s^2 I), where sd starts."""
    bound: Annotated[float, Gt(0)] = 20.0
    """The mean is kept in [-bound, bound]^d; 20 in the paper."""
    ridge: Annotated[float, Ge(0)] = 0.0
    """H of H / 2 |theta|^2 that is added to every loss and makes it H-strongly convex."""


def build(settings: Settings, problem: Problem, model: None = None) -> Learner:
    """The learner of a linear predictor of problem.input_shape features."""
    eta = settings.step_size or problem.n_tasks**-0.5

    return linear.learner("oga", settings, problem, _update, [eta], spread=False)


@cfunc(linear.UPDATE, cache=True)
def _update(mean, sd, extra, gradient, curvature, t, settings):
    for j in range(mean.size):
        mean[j] -= settings[0] * gradient[j]

"""Sequential variational approximation (SVA): all linearised losses so far, and the prior.

Source: cherief2019online, SVA: argmin over (m, sd) of <(m, sd), sum of gradients> + KL(q, prior) /
eta, in closed form

    m <- m - eta s^2 grad_m,    G <- G + grad_sd,    sd <- s h(eta s G / 2),
    h(x) = sqrt(1 + x^2) - x.

The slides print h(eta s G); the factor 1/2 follows from the argmin, and the paper has it. Knows:
the loss and, for the default step size, the number of tasks.

State: also gradient_sum [S, H, d], G. Otherwise State and Info: see `methods/online/linear.py`.
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
    theorem="1",
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
    """Build SVA for a linear predictor; LearnerError if loss and targets do not fit."""
    eta, s = settings.step_size or problem.n_tasks**-0.5, settings.prior_sd
    return linear.learner("sva", settings, problem, _update, [eta, s], extra="gradient_sum")


@cfunc(linear.UPDATE, cache=True)
def _update(mean, sd, gradient_sum, gradient, curvature, t, settings):
    """Apply SVA's closed form to mean and sd, in place; see `linear.UPDATE` for the arguments."""
    eta, s = settings
    step, half = eta * s**2, 0.5 * eta * s
    for j in range(mean.size):
        mean[j] -= step * gradient[j]
        gradient_sum[j] += curvature[j] * sd[j]
        sd[j] = s * linear.shrink(half * gradient_sum[j])

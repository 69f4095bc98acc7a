"""Sequential variational approximation: the sum of all linearised losses, and the prior.

Source: cherief2019online, SVA: argmin over (m, sd) of <(m, sd), sum of gradients> + KL(q, prior) /
eta, in closed form

    m <- m - eta s^2 grad_m,    G <- G + grad_sd,    sd <- s h(eta s G / 2),
    h(x) = sqrt(1 + x^2) - x.

The slides print h(eta s G); the factor 1/2 is what the argmin gives, and what the paper has.

State: gradient_sum [S, H, d] (G) too. Info: `methods/online/linear.py`.
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
OFFERS = ("broaden", "log_evidence", "loss")
THEOREM = "1"


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
    eta, s = settings.step_size or problem.n_tasks**-0.5, settings.prior_sd

    return linear.learner("sva", settings, problem, _update, [eta, s], extra="gradient_sum")


@cfunc(linear.UPDATE, cache=True)
def _update(mean, sd, gradient_sum, gradient, curvature, t, settings):
    eta, s = settings
    step, half = eta * s**2, 0.5 * eta * s
    for j in range(mean.size):
        mean[j] -= step * gradient[j]
        gradient_sum[j] += curvature[j] * sd[j]
        sd[j] = s * linear.shrink(half * gradient_sum[j])

"""Streaming variational Bayes: the linearised loss of one row, and the posterior before it.

Source: cherief2019online, SVB: argmin over (m, sd) of <(m, sd), gradients> + KL(q, q_t) / eta, in
closed form

    m <- m - eta sd^2 grad_m,    sd <- sd h(eta sd grad_sd / 2),    h(x) = sqrt(1 + x^2) - x.

The slides print h without the factor 1/2, which the argmin has. eta may differ between
parameters: the paper divides it by sd^2, so that the step of m does not depend on sd.

State and Info: `methods/online/linear.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt
from numba import cfunc

from shiftbench.core.interface import Learner, LearnerError, Problem
from shiftbench.methods.online import linear

NEEDS: tuple[str, ...] = ()
MODEL = False
TAKES = {"two-classes": "score", "number": "score"}
REFUSES = {"number": {"loss": ("hinge",)}, "two-classes": {"loss": ("squared", "absolute")}}
WRONG = {
    "the schedule linear divides by ridge; set ridge above 0": {
        "schedule": ("linear",),
        "ridge": (0.0,),
    },
}
OFFERS = ("broaden", "log_evidence", "loss")
THEOREM = {"2": {"schedule": ("scaled",)}, "2, strongly convex": {"schedule": ("linear",)}}


@dataclass(frozen=True)
class Settings:
    loss: Literal["auto", "hinge", "squared", "absolute"] = "auto"
    """auto: hinge for two classes, squared for one real target."""
    schedule: Literal["scaled", "linear", "constant"] = "scaled"
    """eta_t: scaled, the paper's c / (sd^2 sqrt(t)); linear, its 2 / (H t sd^2) for
    H-strongly convex losses (H = ridge); constant, c: steps grow with sd, so that a widened
    posterior learns faster."""
    step_size: Annotated[float, Gt(0)] = 1.0
    """c of the schedule; 1 in the paper. Without effect under `linear`."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation s of the prior N(0, s^2 I), where sd starts."""
    bound: Annotated[float, Gt(0)] = 20.0
    """The mean is kept in [-bound, bound]^d; 20 in the paper."""
    ridge: Annotated[float, Ge(0)] = 0.0
    """H of H / 2 |theta|^2 that is added to every loss and makes it H-strongly convex."""


def build(settings: Settings, problem: Problem, model: None = None) -> Learner:
    """The learner of a linear predictor of problem.input_shape features.

    LearnerError for the schedule `linear` without ridge.
    """
    if settings.schedule == "linear" and not settings.ridge:
        raise LearnerError("svb: the schedule linear divides by ridge; set ridge above 0")

    scale = 2 / settings.ridge if settings.schedule == "linear" else settings.step_size
    power = {"scaled": 0.5, "linear": 1.0, "constant": 0.0}[settings.schedule]
    constants = [scale, power, settings.schedule == "constant"]
    return linear.learner("svb", settings, problem, _update, constants)


@cfunc(linear.UPDATE, cache=True)
def _update(mean, sd, extra, gradient, curvature, t, settings):
    scale, power, times_variance = settings
    at_t = scale * t**-power
    for j in range(mean.size):
        # eta_t sd^2, which is all that the update needs of eta_t.
        step = at_t * sd[j] ** 2 if times_variance else at_t
        mean[j] -= step * gradient[j]
        sd[j] *= linear.shrink(0.5 * step * curvature[j])

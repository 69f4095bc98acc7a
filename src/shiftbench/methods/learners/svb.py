"""Streaming variational Bayes (SVB): the linearised loss of one row, and the previous posterior.

Source: cherief2019online, SVB: argmin over (m, sd) of <(m, sd), gradients> + KL(q, q_t) / eta, in
closed form

    m <- m - eta sd^2 grad_m,    sd <- sd h(eta sd grad_sd / 2),    h(x) = sqrt(1 + x^2) - x.

The slides print h without the factor 1/2, which follows from the argmin. eta may differ between
parameters: the paper divides it by sd^2, so that the step of m does not depend on sd. Knows: the
loss.

State and Info: see `methods/online/linear.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Gt
from numba import cfunc

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Learner, LearnerError, Problem
from shiftbench.methods.online import linear, network
from shiftbench.methods.online.settings import DRAWN, GaussianSettings, lacks_draws

FACTS = Facts(
    takes={"two-classes": "score", "number": "score"},
    offers={"broaden": {"loss_draws": (0,)}, "log_evidence": True, "loss": {"loss_draws": (0,)}},
    refuses={"number": {"loss": ("hinge",)}, "two-classes": {"loss": ("squared", "absolute")}},
    theorem={
        "2": {"schedule": ("scaled",), "loss_draws": (0,)},
        "2, strongly convex": {"schedule": ("linear",), "loss_draws": (0,)},
    },
)


@dataclass(frozen=True)
class Settings(GaussianSettings):
    schedule: Literal["scaled", "linear", "constant"] = "scaled"
    """Step size eta_t. scaled: the paper's c / (sd^2 sqrt(t)); linear: its 2 / (H t sd^2) for
    H-strongly convex losses (H = ridge); constant: c, so that steps grow with sd and a broadened
    posterior learns faster."""
    step_size: Annotated[float, Gt(0)] = 1.0
    """Factor c of the schedule; no effect under linear (paper: 1)."""


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings exclude each other, with its remedy."""
    if lacks_draws(settings):
        yield DRAWN
    if settings.schedule == "linear" and settings.ridge == 0:
        yield "the schedule linear divides by ridge; set ridge above 0"


def build(settings: Settings, problem: Problem, model: None = None) -> Learner:
    """Build SVB for a linear predictor or a network.

    Raises LearnerError if loss and targets do not fit, or if schedule is linear without ridge.
    """
    if settings.schedule == "linear" and not settings.ridge:
        raise LearnerError("svb: the schedule linear divides by ridge; set ridge above 0")
    scale = 2 / settings.ridge if settings.schedule == "linear" else settings.step_size
    power = {"scaled": 0.5, "linear": 1.0, "constant": 0.0}[settings.schedule]
    constants = [scale, power, settings.schedule == "constant"]
    return network.learner("svb", settings, problem, _update, constants, draws=settings.loss_draws)


@cfunc(linear.UPDATE, cache=True)
def _update(mean, sd, extra, gradient, curvature, t, settings):
    """Apply SVB's closed form to mean and sd, in place; see `linear.UPDATE` for the arguments."""
    scale, power, times_variance = settings
    scale_t = scale * t**-power
    for j in range(mean.size):
        # The update needs eta_t only as eta_t sd^2.
        step = scale_t * sd[j] ** 2 if times_variance else scale_t
        mean[j] -= step * gradient[j]
        sd[j] *= linear.shrink(0.5 * step * curvature[j])

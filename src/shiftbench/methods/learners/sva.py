"""Sequential variational approximation (SVA): all linearised losses so far, and the prior.

Source: cherief2019online, SVA: argmin over (m, sd) of <(m, sd), sum of gradients> + KL(q, prior) /
eta, in closed form

    m <- m - eta s^2 grad_m,    G <- G + grad_sd,    sd <- s h(eta s G / 2),
    h(x) = sqrt(1 + x^2) - x.

The slides print h(eta s G); the factor 1/2 follows from the argmin, and the paper has it. The prior
stays, and sd follows from G alone, so that a broadened sd would be lost at the next row: SVA cannot
be broadened. Knows: the loss and, for the default step size, the number of tasks.

State: also gradient_sum [S, H, d], G. Otherwise State and Info: see `methods/online/linear.py`.
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
    offers={"log_evidence": True, "loss": {"loss_draws": (0,)}},
    refuses={"number": {"loss": ("hinge",)}, "two-classes": {"loss": ("squared", "absolute")}},
    theorem={"1": {"loss_draws": (0,)}},
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
    """Build SVA for a linear predictor or a network; LearnerError if the loss does not fit."""
    eta, s = settings.step_size or problem.n_tasks**-0.5, settings.prior_sd
    return network.learner(
        "sva", settings, problem, _update, [eta, s], "gradient_sum", draws=settings.loss_draws
    )


@cfunc(linear.UPDATE, cache=True)
def _update(mean, sd, gradient_sum, gradient, curvature, t, settings):
    """Apply SVA's closed form to mean and sd, in place; see `linear.UPDATE` for the arguments."""
    eta, s = settings
    step, half = eta * s**2, 0.5 * eta * s
    for j in range(mean.size):
        mean[j] -= step * gradient[j]
        gradient_sum[j] += curvature[j] * sd[j]
        sd[j] = s * linear.shrink(half * gradient_sum[j])

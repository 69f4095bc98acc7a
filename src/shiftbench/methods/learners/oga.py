"""Online gradient algorithm (OGA): one gradient step on the loss of each row.

Source: cherief2019online, "Online gradient algorithm":

    theta <- theta - eta grad l_t(theta), projected to the box.

It is the baseline of the online variational learners and has no posterior: sd stays 0. Knows: the
loss and, for the default step size, the number of tasks.

State and Info: see `methods/online/linear.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge
from numba import cfunc

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Learner, Problem
from shiftbench.methods.online import linear, network
from shiftbench.methods.online.settings import CommonSettings

FACTS = Facts(
    takes={"two-classes": "score", "number": "score"},
    offers={"log_evidence": True, "loss": {"hidden": (0,)}},
    refuses={"number": {"loss": ("hinge",)}, "two-classes": {"loss": ("squared", "absolute")}},
    theorem={"gradient": {"hidden": (0,)}},
)


@dataclass(frozen=True)
class Settings(CommonSettings):
    step_size: Annotated[float, Ge(0)] = 0.0
    """Step size eta; 0 stands for the paper's 1 / sqrt(T), with T the number of tasks."""


def build(settings: Settings, problem: Problem, model: None = None) -> Learner:
    """Build OGA for a linear predictor or a network; LearnerError if the loss does not fit."""
    eta = settings.step_size or problem.n_tasks**-0.5
    return network.learner("oga", settings, problem, _update, [eta], spread=False)


@cfunc(linear.UPDATE, cache=True)
def _update(mean, sd, extra, gradient, curvature, t, settings):
    """Take one gradient step of the mean, in place; see `linear.UPDATE` for the arguments."""
    for j in range(mean.size):
        mean[j] -= settings[0] * gradient[j]

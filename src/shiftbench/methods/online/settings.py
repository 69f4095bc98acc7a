"""Settings of online learners that make an update for each row, of a point or of a Gaussian."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt


@dataclass(frozen=True)
class CommonSettings:
    """The settings that every online learner has."""

    loss: Literal["auto", "hinge", "squared", "absolute"] = "auto"
    """Loss of a row; auto: hinge for two classes, squared for one real target."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation s of the prior N(0, s^2 I); start value of sd."""
    bound: Annotated[float, Gt(0)] = 20.0
    """Half width of the box [-bound, bound]^d that the mean is projected to (paper: 20)."""
    ridge: Annotated[float, Ge(0)] = 0.0
    """Factor H of H / 2 |theta|^2, which is added to every loss and makes it H-strongly convex."""
    hidden: Annotated[int, Ge(0)] = 0
    """Units of the hidden layer of a network with rectified linear units; 0: a linear predictor
    without an intercept. The prior is then around random start values."""


@dataclass(frozen=True)
class GaussianSettings(CommonSettings):
    """The settings of online learners of a Gaussian, which descend expected losses."""

    loss_draws: Annotated[int, Ge(0)] = 0
    """Draws for each expected loss and its gradients; 0: the closed form, which only a linear
    predictor has."""


DRAWN = "a network has no closed form of expected losses; set loss_draws, such as loss_draws: 10"
"""Reason why `hidden` needs `loss_draws`, with its remedy."""


def lacks_draws(settings: GaussianSettings) -> bool:
    """Return whether a network is to be learnt by a closed form that it does not have."""
    return settings.hidden > 0 and settings.loss_draws == 0

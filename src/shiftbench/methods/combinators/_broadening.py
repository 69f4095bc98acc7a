"""Broadening of the inner learner's posterior by a combinator's settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from shiftbench.core.interface import Broadening, BroadeningKind, Learner, LearnerError, State


class BroadeningSettings(Protocol):
    """The settings of a combinator that broadens; see `interface.Broadening`."""

    @property
    def broadening(self) -> BroadeningKind: ...
    @property
    def beta(self) -> float: ...
    @property
    def variance(self) -> float: ...


def broadening_of(
    combinator: str, settings: BroadeningSettings, learner: Learner
) -> Callable[[State], State]:
    """Return the function that broadens the learner's state as set; LearnerError if it has none."""
    broaden = learner.broaden
    if broaden is None:
        raise LearnerError(
            f"{combinator}: the learner inside cannot be broadened; use one that offers `broaden`,"
            " as config/README.md lists"
        )
    return lambda state: broaden(state, broadening(settings))


def broadening(settings: BroadeningSettings) -> Broadening:
    """Return the broadening that the settings ask for."""
    return Broadening(settings.broadening, settings.beta, settings.variance)

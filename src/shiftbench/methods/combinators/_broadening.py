"""How the posterior of the learner inside is widened, as the settings of a combinator say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from shiftbench.core.interface import Broadening, Learner, LearnerError, State


class Widened(Protocol):
    """The settings that say how; `interface.Broadening` has what they mean."""

    @property
    def broadening(self) -> Literal["temper", "temper-prior", "geometric", "diffuse"]: ...
    @property
    def beta(self) -> float: ...
    @property
    def variance(self) -> float: ...


def widening(combinator: str, settings: Widened, learner: Learner) -> Callable[[State], State]:
    """State of the learner -> the same, widened. LearnerError where it cannot be."""
    broaden = learner.broaden
    if broaden is None:
        raise LearnerError(
            f"{combinator}: the learner inside cannot be broadened; use one that offers `broaden`,"
            " as config/README.md lists"
        )
    how = Broadening(settings.broadening, settings.beta, settings.variance)
    return lambda state: broaden(state, how)

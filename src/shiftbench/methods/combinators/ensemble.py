"""Several learners of the same data, each with starts, minibatches and noise of its own.

Predictions are the mixture of the members', all with the same weight: a deep ensemble
(lakshminarayanan2017ensembles) over `map`, an ensemble of posteriors (farquhar2020radial,
Table 1) over `mfvi`. Any learner can be a member, and so can a pipeline of combinators.

Inside, members are repetitions: a learner that is asked for S seeds is given S M of them, and
trains all members in one graph. The first member has the seeds as they are, so that an ensemble
of one is its member, to the byte. Whatever the learner keeps, it keeps M times, and data are
repeated likewise; `fits: sequential` takes members in turn, in the memory of one, with the same
results but for rounding. A learner that draws nothing has M equal members.

State, Info and predictions: those of the members beside each other on the hypothesis axis,
[S, M H, ...] for a member's [S, H, ...], the first member's first. Of several members, what
describes one history alone is left out of the Info: a mixture of beams is no beam. Evidence is
each member's own, so no combinator around it can weigh an ensemble by it, nor widen it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, NamedTuple

import numpy as np
from annotated_types import Ge

from shiftbench.core.interface import (
    Batch,
    Context,
    Info,
    Learner,
    Predictive,
    Problem,
    State,
    mapped,
)
from shiftbench.core.seeds import fold_each

NEEDS: tuple[str, ...] = ()
REFUSES = ("counts",)
PASSES = ("boundary", "scratch")

Learn = Callable[[State, Batch, np.ndarray], tuple[State, Info]]

OF_ONE_HISTORY = ("parent", "shift", "log_weight", "run_length", "map_log_joint", "model")
"""What Info says of the hypotheses of a single learner (see OFFERS of beam and run-length)."""


@dataclass(frozen=True)
class Settings:
    size: Annotated[int, Ge(1)] = 5
    """Number M of members (lakshminarayanan2017ensembles: 5; farquhar2020radial: 3)."""
    fits: Literal["parallel", "sequential"] = "parallel"
    """Whether members are trained side by side, or one after the other, in less memory."""


def build(settings: Settings, problem: Problem, learner: Learner) -> Learner:
    """The ensemble of `settings.size` such learners."""
    members = _Members(settings.size, settings.size if settings.fits == "parallel" else 1)

    def init(seeds: np.ndarray) -> State:
        return members.beside([learner.init(own) for own in members.seeds(seeds)])

    def drift(state: State, seeds: np.ndarray) -> State:
        each = members.apart(state, seeds)
        return members.beside([learner.drift(one, own) for one, own in each])

    def boundary(state: State, context: Context, seeds: np.ndarray) -> State:
        told = Context(*(None if a is None else members.repeated(a) for a in context))
        each = members.apart(state, seeds)
        return members.beside([learner.boundary(one, told, own) for one, own in each])

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        seen, each = members.repeated(inputs), members.apart(state, seeds)
        return _mixture(members, [learner.predict(one, seen, own) for one, own in each])

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        return _learnt(members, learner.observe, state, batch, seeds)

    def warm_up(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        return _learnt(members, learner.begin, state, batch, seeds)

    return Learner(init, predict, observe, drift=drift, boundary=boundary, warm_up=warm_up)


class _Members(NamedTuple):
    """How `size` members are handed to a learner: `at_once`, M' of them, as S M' repetitions."""

    size: int
    at_once: int

    def seeds(self, seeds: np.ndarray) -> list[np.ndarray]:
        """Seeds [S M', 2] of each group of members, from those of the repetitions, [S, 2]."""
        own = [seeds, *(fold_each(seeds, "member", i) for i in range(1, self.size))]
        return [np.stack(own[group], axis=1).reshape(-1, 2) for group in self._groups()]

    def apart(self, state: State, seeds: np.ndarray) -> Iterator[tuple[State, np.ndarray]]:
        """State [S M', H, ...] and seeds of each group, from a state [S, M H, ...]."""

        def of(group: slice, array: np.ndarray) -> np.ndarray:
            s, h, *rest = len(array), array.shape[1] // self.size, *array.shape[2:]
            return array.reshape(s, self.size, h, *rest)[:, group].reshape(
                s * self.at_once, h, *rest
            )

        for group, own in zip(self._groups(), self.seeds(seeds), strict=True):
            yield mapped(partial(of, group), state), own

    def repeated(self, array: np.ndarray) -> np.ndarray:
        """Data [S, ...] as the members of a group see them, [S M', ...]."""
        return np.repeat(array, self.at_once, axis=0) if self.at_once > 1 else array

    def beside(self, parts: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Arrays [S, M H, ...] from those of the groups, [S M', H, ...]."""

        def joined(name: str) -> np.ndarray:
            each = [part[name] for part in parts]
            s, h, *rest = len(each[0]) // self.at_once, *each[0].shape[1:]
            return np.concatenate([a.reshape(s, self.at_once * h, *rest) for a in each], axis=1)

        return {name: joined(name) for name in parts[0]}

    def _groups(self) -> list[slice]:
        return [slice(i, i + self.at_once) for i in range(0, self.size, self.at_once)]


def _mixture(members: _Members, found: Sequence[Predictive]) -> Predictive:
    """The members' predictions with equal weights; what they do not have, it does not."""
    each = [{k: a for k, a in one._asdict().items() if a is not None} for one in found]
    fields = members.beside(each)
    fields["log_weights"] = fields["log_weights"] - np.log(members.size)
    return found[0]._replace(**fields)


def _learnt(
    members: _Members, learn: Learn, state: State, batch: Batch, seeds: np.ndarray
) -> tuple[State, Info]:
    """State and Info after all members have learnt."""
    seen = Batch(*map(members.repeated, batch))
    each = [learn(one, seen, own) for one, own in members.apart(state, seeds)]
    states, infos = zip(*each, strict=True)
    left_out = OF_ONE_HISTORY if members.size > 1 else ()
    info = members.beside(infos)
    return members.beside(states), {k: a for k, a in info.items() if k not in left_out}

"""Ensembles: several learners of the same data, each with its own seeds.

Predictions are the mixture of the members' with equal weights: a deep ensemble
(lakshminarayanan2017ensembles) over `map`, an ensemble of posteriors (farquhar2020radial, Table 1)
over `mfvi`. Any learner can be a member, and so can a pipeline of combinators; start values,
minibatches and noise differ between members.

Members are run as repetitions: for a run of S seeds the learner gets S M seeds, so that all members
train in one graph. The first member has the seeds unchanged, so that an ensemble of one equals its
member to the byte. States are kept M times and data are repeated M times; with `fits: sequential`
members run one after the other in the memory of one, with the same results up to rounding. A
learner without randomness has M equal members.

State, Info and predictions: the members' on the hypothesis axis, [S, M H, ...] for a member's
[S, H, ...], in the order of the members. With several members, Info that describes one history is
left out: a mixture of beams is not a beam. Each member has its own evidence, so a combinator around
an ensemble can neither weigh it by evidence nor broaden it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, NamedTuple

import numpy as np
from annotated_types import Ge

from shiftbench.core.facts import Facts
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

FACTS = Facts(refuses=("counts",), passes=("boundary", "scratch"))

Learn = Callable[[State, Batch, np.ndarray], tuple[State, Info]]

OF_ONE_HISTORY = ("parent", "shift", "log_weight", "run_length", "map_log_joint", "model")
"""Info about the hypotheses of a single beam or run-length, which has no meaning for a mixture."""


@dataclass(frozen=True)
class Settings:
    size: Annotated[int, Ge(1)] = 5
    """Number M of members (lakshminarayanan2017ensembles: 5; farquhar2020radial: 3)."""
    fits: Literal["parallel", "sequential"] = "parallel"
    """Training of the members: side by side, or one after the other in less memory."""


def work(settings, problem):
    """Return the problem inside, for a forecast: that of each member."""
    return problem.repeated(settings["size"], settings.get("fits") == "sequential")


def build(settings: Settings, problem: Problem, learner: Learner) -> Learner:
    """Build an ensemble of `settings.size` members of the learner's kind."""
    members = _Members(settings.size, settings.size if settings.fits == "parallel" else 1)

    def init(seeds: np.ndarray) -> State:
        return members.joined([learner.init(own) for own in members.seeds(seeds)])

    def drift(state: State, seeds: np.ndarray) -> State:
        groups = members.split(state, seeds)
        return members.joined([learner.drift(group, own) for group, own in groups])

    def boundary(state: State, context: Context, seeds: np.ndarray) -> State:
        context = Context(*(None if a is None else members.repeated(a) for a in context))
        groups = members.split(state, seeds)
        return members.joined([learner.boundary(group, context, own) for group, own in groups])

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        inputs, groups = members.repeated(inputs), members.split(state, seeds)
        return _mixture(members, [learner.predict(group, inputs, own) for group, own in groups])

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        return _learn(members, learner.observe, state, batch, seeds)

    def warm_up(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        return _learn(members, learner.begin, state, batch, seeds)

    return Learner(init, predict, observe, drift=drift, boundary=boundary, warm_up=warm_up)


class _Members(NamedTuple):
    """The layout of `size` members: groups of `at_once`, M', run as S M' repetitions."""

    size: int
    at_once: int

    def seeds(self, seeds: np.ndarray) -> list[np.ndarray]:
        """Return the seeds [S M', 2] of each group, from those of the repetitions, [S, 2]."""
        own = [seeds, *(fold_each(seeds, "member", i) for i in range(1, self.size))]
        return [np.stack(own[group], axis=1).reshape(-1, 2) for group in self._groups()]

    def split(self, state: State, seeds: np.ndarray) -> Iterator[tuple[State, np.ndarray]]:
        """Yield state [S M', H, ...] and seeds of each group, from a state [S, M H, ...]."""

        def select(group: slice, array: np.ndarray) -> np.ndarray:
            s, h, *rest = len(array), array.shape[1] // self.size, *array.shape[2:]
            return array.reshape(s, self.size, h, *rest)[:, group].reshape(
                s * self.at_once, h, *rest
            )

        for group, own in zip(self._groups(), self.seeds(seeds), strict=True):
            yield mapped(partial(select, group), state), own

    def repeated(self, array: np.ndarray) -> np.ndarray:
        """Repeat data [S, ...] for the members of a group, [S M', ...]."""
        return np.repeat(array, self.at_once, axis=0) if self.at_once > 1 else array

    def joined(self, groups: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Join the groups' arrays [S M', H, ...] into those of all members, [S, M H, ...]."""

        def join(arrays: list[np.ndarray]) -> np.ndarray:
            s, h, *rest = len(arrays[0]) // self.at_once, *arrays[0].shape[1:]
            return np.concatenate([a.reshape(s, self.at_once * h, *rest) for a in arrays], axis=1)

        return {name: join([group[name] for group in groups]) for name in groups[0]}

    def _groups(self) -> list[slice]:
        """Return the slice of the members of each group."""
        return [slice(i, i + self.at_once) for i in range(0, self.size, self.at_once)]


def _mixture(members: _Members, groups: Sequence[Predictive]) -> Predictive:
    """Return the mixture of the groups' predictions with equal weights of all members."""
    each = [{k: a for k, a in group._asdict().items() if a is not None} for group in groups]
    fields = members.joined(each)
    fields["log_weights"] = fields["log_weights"] - np.log(members.size)
    return groups[0]._replace(**fields)


def _learn(
    members: _Members, learn: Learn, state: State, batch: Batch, seeds: np.ndarray
) -> tuple[State, Info]:
    """Return State and Info after all members have learnt the batch."""
    batch = Batch(*map(members.repeated, batch))
    results = [learn(group, batch, own) for group, own in members.split(state, seeds)]
    states, infos = zip(*results, strict=True)
    left_out = OF_ONE_HISTORY if members.size > 1 else ()
    info = members.joined(infos)
    return members.joined(states), {k: a for k, a in info.items() if k not in left_out}

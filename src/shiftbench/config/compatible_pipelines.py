"""Finds out whether pipelines fit streams, from the facts of their components.

A stream gives a kind of problem and has some properties. A pipeline is first read inwards: each
combinator passes the problem, perhaps changed, to the component inside it; the learner takes it
with the study's model and says what it predicts. Then it is read outwards: the learner offers
abilities; each combinator needs some of them, passes some on, and adds its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from pydantic import ValidationError

from shiftbench.config import components
from shiftbench.config.pipeline_parts import by_kind
from shiftbench.config.schema import Component, Stream, Study
from shiftbench.core.facts import KINDS, Facts


class Part(NamedTuple):
    """A component with all its settings; None stands for any settings that fit."""

    kind: str
    name: str
    settings: Mapping[str, Any] | None
    label: str

    @property
    def facts(self) -> Facts:
        """The facts that the component declares."""
        return components.facts(self.kind, self.name)

    def words(self, fact: str) -> frozenset[str]:
        """Return the words of one of its facts."""
        if self.settings is not None:
            return self.facts.words(fact, self.settings)
        conditions = self.facts.possible(fact)
        against = fact in ("requires", "refuses")
        return frozenset(word for word, when in conditions.items() if when is True or not against)

    def kinds(self) -> list[str]:
        """Return the kinds of problem that it gives."""
        return sorted(self.words("gives") & KINDS.keys())

    def wrong(self) -> list[str]:
        """Return why its settings exclude each other."""
        if self.settings is None:
            return []
        return sorted(components.unsupported(self.kind, self.name, self.settings))


class Given(NamedTuple):
    """A kind of problem and properties that a component is given, and the parts that give them."""

    kind: str
    giver: Part
    has: Mapping[str, Part]
    model: Part | None = None


class Misfit(NamedTuple):
    """A component that does not fit its surroundings, with the declaration that it breaks.

    word: for the fact `takes` the kind that it does not take, for `requires` what is missing, for
    `refuses` what it refuses; for `unsupported`, which is no fact, the reason with its remedy.
    """

    part: Part
    now: Given
    fact: str
    word: str


class Lack(NamedTuple):
    """A combinator whose inner component lacks abilities; learner: the innermost, given `now`."""

    part: Part
    inner: Part
    words: frozenset[str]
    learner: Part
    now: Given


class Fitted(NamedTuple):
    """The fit of a pipeline to a stream: the misfit and its position, or None and what it offers.

    prediction: the type that its learner predicts; offers: abilities for metrics and artefacts.
    """

    misfit: tuple[int, Misfit | Lack] | None
    prediction: str = ""
    offers: frozenset[str] = frozenset()


class Peers(NamedTuple):
    """The methods on each stream, which metrics and artefacts are checked against."""

    streams: Mapping[str, Given]
    methods: Mapping[tuple[str, str], Fitted]


def given(name: str, stream: Stream) -> Given | None:
    """Return what a stream gives; None if its settings are wrong or it declares no kind."""
    part = part_of("streams", (stream.family, stream.settings), f'stream "{name}"')
    if part is None or len(part.kinds()) != 1 or part.wrong():
        return None
    (kind,) = part.kinds()
    return Given(kind, part, dict.fromkeys(part.words("gives") - {kind}, part))


def fit_pipeline(parts: Sequence[Part] | None, model: Part | None, stream: Given) -> Fitted | None:
    """Return how a pipeline fits a stream; None if a component of it has another error."""
    if parts is None:
        return None
    now = stream
    for position, part in enumerate(parts):
        if part.kind == "learners" and model and _trains(part) and _takes(part, now.kind):
            if misfit := misfit_of(model, now):
                return Fitted((position, misfit))
            has = {**now.has, **dict.fromkeys(model.words("gives"), model)}
            now = now._replace(has=has, model=model)
        if misfit := misfit_of(part, now):
            return Fitted((position, misfit))
        if part.kind == "combinators":
            now = _inside(part, now)
    return _outwards(parts, parts[-1].facts.possible("takes")[now.kind], now)


def _inside(part: Part, now: Given) -> Given:
    """Return the kind and the properties that a combinator gives to the component inside it."""
    own = dict.fromkeys((part.words("gives") | _always_offered(part)) - KINDS.keys(), part)
    for kind in part.kinds():
        return Given(kind, part, own)
    return now._replace(has={**now.has, **own})


def _always_offered(part: Part) -> frozenset[str]:
    """Return what a combinator offers; without settings, what it offers with any of them."""
    if part.settings is not None:
        return part.words("offers")
    return frozenset(word for word, when in part.facts.possible("offers").items() if when is True)


def _outwards(parts: Sequence[Part], prediction: str, now: Given) -> Fitted:
    """Return what a pipeline offers, or the innermost combinator that lacks something.

    now: the kind and the properties that its learner is given.
    """
    learner = parts[-1]
    offers = learner.words("offers")
    for position in range(len(parts) - 2, -1, -1):
        part, inner, passes = parts[position], parts[position + 1], parts[position].words("passes")
        lacking = part.words("from_learner") - offers
        # What the protocol reveals reaches no learner in a combinator that keeps it.
        lacking |= {"boundary"} & (offers - passes)
        if lacking:
            return Fitted((position, Lack(part, inner, lacking, learner, now)))
        offers = (offers & passes) | part.words("offers")
    return Fitted(None, prediction, offers)


def misfit_of(part: Part, now: Given) -> Misfit | None:
    """Return why a component does not fit what it is given; None if it does."""
    for fact, words in (
        ("unsupported", part.wrong()),
        ("takes", () if _takes(part, now.kind) else (now.kind,)),
        ("refuses", part.words("refuses") & {now.kind, *now.has}),
        ("requires", part.words("requires") - now.has.keys()),
    ):
        for word in sorted(words):
            return Misfit(part, now, fact, word)
    return None


def _takes(part: Part, kind: str) -> bool:
    takes = part.facts.possible("takes")
    return kind in takes if takes else part.kind != "learners"


def fitting_pipelines(stream: Given) -> dict[tuple[Part, ...], Fitted]:
    """Learners alone and in one or two combinators that fit, with some settings of theirs."""
    outer = [any_part("combinators", name) for name in components.names("combinators")]
    found = {}
    for name in components.names("learners"):
        learner = any_part("learners", name)
        around = [(), *((one,) for one in outer), *product(outer, outer)]
        for parts in ((*combinators, learner) for combinators in around):
            fitted = fit_pipeline(parts, _any_model(learner, stream), stream)
            if fitted is not None and fitted.misfit is None:
                found[parts] = fitted
    return found


def parts_of(pipeline: Sequence[Component]) -> tuple[Part, ...] | None:
    """Return the components of a pipeline; None where one has another error."""
    items = by_kind(pipeline or [("", {})])
    parts = [part_of(kind, one, f'"{one[0]}"') for kind, one in items]
    return None if None in parts else tuple(part for part in parts if part)


def part_of_model(study: Study) -> Part | None:
    """Return the model of a study with all its settings; None without a valid model."""
    return study.model and part_of("models", study.model, f'model "{study.model[0]}"')


def part_of(kind: str, component: Component, label: str) -> Part | None:
    """Return a component with all its settings; None for an unknown name or wrong settings."""
    name, settings = component
    if name not in components.names(kind):
        return None
    try:
        return Part(kind, name, components.check(kind, name, settings), label)
    except ValidationError:
        return None


def any_part(kind: str, name: str) -> Part:
    """Return a component with any settings."""
    return Part(kind, name, None, f'"{name}"')


def known_part(kind: str, name: str) -> Part | None:
    """Return a component with any settings; None for an unknown name."""
    return any_part(kind, name) if name in components.names(kind) else None


def _any_model(learner: Part, stream: Given) -> Part | None:
    """Return the model that gives a learner most of what it requires on a stream."""
    if not _trains(learner):
        return None
    models = [any_part("models", name) for name in components.names("models")]
    suit = [
        one
        for one in models
        if misfit_of(one, stream) is None and not one.words("gives") & learner.words("refuses")
    ]
    needed = learner.words("requires")
    return max(suit, key=lambda one: len(one.words("gives") & needed), default=None)


def _trains(part: Part) -> bool:
    return bool(part.facts.model)

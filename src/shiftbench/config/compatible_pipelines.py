"""What a pipeline makes of a stream, from what its components declare.

A stream gives a kind of problem and has some properties. A pipeline is read inwards: each
combinator takes what it is given and hands it on, perhaps changed, to what is inside; the learner
takes it with the study's model and says what it predicts. Then outwards: the learner offers
something, each combinator needs some of that, adds its own, and passes some on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from pydantic import ValidationError

from shiftbench.config import components, declarations
from shiftbench.config.schema import Component, Stream, Study


class Part(NamedTuple):
    """A component with all its settings; None: with some that suit, whatever they are."""

    kind: str
    name: str
    settings: Mapping[str, Any] | None
    label: str

    def words(self, constant: str) -> frozenset[str]:
        """The words of one of its constants."""
        if self.settings is not None:
            return declarations.words(self.kind, self.name, constant, self.settings)
        conditions = declarations.possible(self.kind, self.name, constant)
        against = constant in ("REQUIRES", "REFUSES", "WRONG")
        return frozenset(word for word, when in conditions.items() if when is True or not against)


class Given(NamedTuple):
    """What a component is given: a kind of problem, properties, and who they come from."""

    kind: str
    giver: Part
    has: Mapping[str, Part]
    model: Part | None = None


class Misfit(NamedTuple):
    """A component that does not fit what it is given: which of its constants says so, and where.

    word: a message (WRONG), the kind that it does not take (TAKES), what is missing (REQUIRES) or
    what it refuses (REFUSES).
    """

    part: Part
    now: Given
    constant: str
    word: str


class Lack(NamedTuple):
    """A combinator that lacks words of what is inside it; learner: the inmost, given `now`."""

    part: Part
    inner: Part
    words: frozenset[str]
    learner: Part
    now: Given


class Fitted(NamedTuple):
    """A pipeline on a stream: where it does not fit, or None and what it can.

    prediction: of its learner; offers: to metrics and artefacts.
    """

    misfit: tuple[int, Misfit | Lack] | None
    prediction: str = ""
    offers: frozenset[str] = frozenset()


class Peers(NamedTuple):
    """Who metrics and artefacts are about: the variants on each stream, fitted."""

    streams: Mapping[str, Given]
    variants: Mapping[tuple[str, str], Fitted]


def given(name: str, stream: Stream) -> Given | None:
    """What a stream gives; None where it is wrong, or does not declare it."""
    part = part_of("streams", (stream.family, stream.settings), f'stream "{name}"')
    kinds = sorted(part.words("GIVES")) if part else []
    if part is None or len(kinds) != 1 or part.words("WRONG"):
        return None
    return Given(kinds[0], part, dict.fromkeys(part.words("HAS"), part))


def fit_pipeline(parts: Sequence[Part] | None, model: Part | None, stream: Given) -> Fitted | None:
    """A pipeline on a stream; None where a part of it has another error."""
    if parts is None:
        return None
    now = stream
    for position, part in enumerate(parts):
        if part.kind == "learners" and model and _trains(part) and _takes(part, now.kind):
            if misfit := misfit_of(model, now):
                return Fitted((position, misfit))
            has = {**now.has, **dict.fromkeys(model.words("HAS"), model)}
            now = now._replace(has=has, model=model)
        if misfit := misfit_of(part, now):
            return Fitted((position, misfit))
        if part.kind == "combinators":
            now = _inside(part, now)
    return _outwards(
        parts, declarations.literal("learners", parts[-1].name, "TAKES")[now.kind], now
    )


def _inside(part: Part, now: Given) -> Given:
    """What a combinator hands on to what is inside, which may refuse what the combinator does."""
    own = dict.fromkeys(part.words("HAS") | _always_offered(part), part)
    for kind in part.words("GIVES"):
        return Given(kind, part, own)
    return now._replace(has={**now.has, **own})


def _always_offered(part: Part) -> frozenset[str]:
    """What a combinator offers, with whatever settings where it has none yet."""
    if part.settings is not None:
        return part.words("OFFERS")
    possible = declarations.possible(part.kind, part.name, "OFFERS")
    return frozenset(word for word, when in possible.items() if when is True)


def _outwards(parts: Sequence[Part], prediction: str, now: Given) -> Fitted:
    """What a pipeline offers; or the first combinator, from the inmost, that lacks something.

    now: what its learner is given.
    """
    learner = parts[-1]
    offers = learner.words("OFFERS")
    offers |= {"theorem"} if learner.words("THEOREM") else frozenset()
    offers |= {"boundary"} if components.constant("learners", learner.name, "NEEDS") else set()
    for position in range(len(parts) - 2, -1, -1):
        part, inner, passes = parts[position], parts[position + 1], parts[position].words("PASSES")
        lacking = part.words("INSIDE") - offers
        # What the protocol reveals reaches no learner in a combinator that keeps it.
        lacking |= {"boundary"} & (offers - passes)
        if lacking:
            return Fitted((position, Lack(part, inner, lacking, learner, now)))
        offers = (offers & passes) | part.words("OFFERS")
    return Fitted(None, prediction, offers)


def misfit_of(part: Part, now: Given) -> Misfit | None:
    """Why a component cannot be given this; None if it can."""
    for constant, words in (
        ("WRONG", part.words("WRONG")),
        ("TAKES", () if _takes(part, now.kind) else (now.kind,)),
        ("REFUSES", part.words("REFUSES") & {now.kind, *now.has}),
        ("REQUIRES", part.words("REQUIRES") - now.has.keys()),
    ):
        for word in sorted(words):
            return Misfit(part, now, constant, word)
    return None


def _takes(part: Part, kind: str) -> bool:
    takes = declarations.literal(part.kind, part.name, "TAKES")
    return kind in takes if takes is not None else part.kind != "learners"


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
    """The components of a pipeline; None where one has another error."""
    *outer, inmost = pipeline or [("", {})]
    kinds = [*[("combinators", one) for one in outer], ("learners", inmost)]
    parts = [part_of(kind, one, f'"{one[0]}"') for kind, one in kinds]
    return None if None in parts else tuple(part for part in parts if part)


def part_of_model(study: Study) -> Part | None:
    return study.model and part_of("models", study.model, f'model "{study.model[0]}"')


def part_of(kind: str, component: Component, label: str) -> Part | None:
    """A component with all its settings; None for an unknown name or wrong settings."""
    name, settings = component
    if name not in components.names(kind):
        return None
    try:
        return Part(kind, name, components.check(kind, name, settings), label)
    except ValidationError:
        return None


def any_part(kind: str, name: str) -> Part:
    """A component with some settings."""
    return Part(kind, name, None, f'"{name}"')


def known_part(kind: str, name: str) -> Part | None:
    return any_part(kind, name) if name in components.names(kind) else None


def _any_model(learner: Part, stream: Given) -> Part | None:
    """The model with which a learner has the most of what it needs on a stream."""
    if not _trains(learner):
        return None
    models = [any_part("models", name) for name in components.names("models")]
    suit = [
        one
        for one in models
        if misfit_of(one, stream) is None and not one.words("HAS") & learner.words("REFUSES")
    ]
    needed = learner.words("REQUIRES")
    return max(suit, key=lambda one: len(one.words("HAS") & needed), default=None)


def _trains(part: Part) -> bool:
    return bool(components.constant("learners", part.name, "MODEL", False))

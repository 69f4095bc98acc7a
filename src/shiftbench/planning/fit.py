"""What of a config does not fit together, found from what components declare, before any run.

A stream gives a kind of problem and has some properties. A pipeline is read inwards: each
combinator takes what it is given and hands it on, perhaps changed, to what is inside; the learner
takes it with the study's model and says what it predicts. Then outwards: the learner offers
something, each combinator needs some of that, adds its own, and passes some on. Metrics and
artefacts need something of the streams, of all predictions, and of what one learner offers.

Every message has the reason and the remedy. Places are as in `yaml_lines`. What has another error,
such as an unknown name, is left to `config_checks`. The words: `fit_words`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import yaml
from pydantic import ValidationError

from shiftbench.errors import UserError
from shiftbench.planning import components, declared
from shiftbench.planning.declared import NOT, When
from shiftbench.planning.endings import TRIALS
from shiftbench.planning.fit_words import CONSTANTS, KINDS, listed, told
from shiftbench.planning.schema import Component, Config, Stream, Study
from shiftbench.planning.yaml_lines import Place

Problem = tuple[Place, str]

MOST_NAMES = 5
"""Names in a remedy."""


class Part(NamedTuple):
    """A component with all its settings; None: with some that suit, whatever they are."""

    kind: str
    name: str
    settings: Mapping[str, Any] | None
    label: str

    def words(self, constant: str) -> frozenset[str]:
        """The words of one of its constants."""
        if self.settings is not None:
            return declared.words(self.kind, self.name, constant, self.settings)
        conditions = declared.possible(self.kind, self.name, constant)
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


def problems(config: Config) -> Iterator[Problem]:
    """Every misfit as (place, message)."""
    streams = {name: given(name, stream) for name, stream in config.streams.items()}
    for name, stream in config.streams.items():
        yield from _undeclared(("streams", name), name, stream)
    for name, study in config.studies.items():
        known = {key: streams[key] for key in study.streams if streams.get(key)}
        yield from _study(("studies", name), study, known)  # type: ignore[arg-type]
        if study.tuning is not None:
            yield from _tuning(("studies", name, "tuning"), study, config)


def notes(config: Config) -> Iterator[str]:
    """What of a config that fits stays empty all the same."""
    trials = {name + TRIALS for name, study in config.studies.items() if study.tuning}
    for name, study in config.studies.items():
        if name not in trials:
            yield from _notes(name, study, config)


def _notes(name: str, study: Study, config: Config) -> Iterator[str]:
    for metric in study.metrics:
        part = _any("metrics", metric)
        for stream in study.streams:
            now = given(stream, config.streams[stream])
            for word in sorted(part.words("BLANK") & now.has.keys()) if now else ():
                text = f'{part.label} stays empty on stream "{stream}", which has'
                yield f"{name}: {text} {told([word])}"
        for key in _absent(part, study):
            yield f"{name}: {part.label} stays empty without a `{key}`"


def given(name: str, stream: Stream) -> Given | None:
    """What a stream gives; None where it is wrong, or does not declare it."""
    part = _part("streams", (stream.family, stream.settings), f'stream "{name}"')
    kinds = sorted(part.words("GIVES")) if part else []
    if part is None or len(kinds) != 1 or part.words("WRONG"):
        return None
    return Given(kinds[0], part, dict.fromkeys(part.words("HAS"), part))


def fitting(kind: str, stream: Given) -> list[str]:
    """The components of a kind that can be used on a stream, with some settings of theirs."""
    if kind in ("learners", "combinators"):
        found = {part.name for pipeline in _pipelines(stream) for part in pipeline}
        return [name for name in components.names(kind) if name in found]
    parts = (_any(kind, name) for name in components.names(kind))
    if kind == "models":
        return [part.name for part in parts if _misfit(part, stream) is None]
    fitted = list(_pipelines(stream).values())
    return [part.name for part in parts if _usable(part, stream, fitted)]


def refuse_absent_words(
    config: Config, stream: str, vocabulary: Iterable[object], study: str | None = None
) -> None:
    """UserError where a study, or this one, wants to show a word that its stream does not have.

    Only of the first stream of a study: that is the one whose words are shown.
    """
    known = dict.fromkeys(map(str, vocabulary))
    for name, plan in config.studies.items():
        if study in (None, name) and plan.streams[0] == stream:
            for word in plan.words:
                if word not in known:
                    (nearest,) = get_close_matches(word, known, 1, cutoff=0.0) or ("",)
                    raise UserError(
                        f'study {name}: its word "{word}" is not in the vocabulary of stream'
                        f' {stream}; the nearest is "{nearest}". Change it in `words`, or raise'
                        " the stream's vocabulary_size"
                    )


def described(kind: str, name: str) -> str:
    """What a component declares that it fits, in a line; empty for nothing."""
    parts = []
    for constant in CONSTANTS:
        possible = declared.possible(kind, name, constant)
        if possible and constant == "TAKES" and kind == "learners":
            words = [f"`{taken}` (predicts `{what}`)" for taken, what in possible.items()]
        elif constant == "WRONG":
            words = [_spelled(when) for when in possible.values()]
        else:
            words = [_described(word, when) for word, when in possible.items()]
        if words:
            parts.append(f"{constant} {', '.join(words)}")
    return f"Fits: {'; '.join(parts)}." if parts else ""


def _described(word: str, when: When) -> str:
    if when is True:
        return f"`{word}`"
    alternatives = [when] if isinstance(when, Mapping) else when
    assert not isinstance(alternatives, bool)
    return f"`{word}` ({'; or '.join(_spelled(one) for one in alternatives)})"


def _undeclared(place: Place, name: str, stream: Stream) -> Iterator[Problem]:
    part = _part("streams", (stream.family, stream.settings), f'stream "{name}"')
    if part is None:
        return
    for text in sorted(part.words("WRONG")):
        yield place, f"{part.label}: {text}"
    if len(part.words("GIVES")) != 1:
        yield (*place, "family"), _silent(part, "gives", "GIVES")


def _silent(part: Part, verb: str, constant: str) -> str:
    file = components.path(part.kind, part.name).name
    return f'"{part.name}" does not say what it {verb}; declare {constant} in {part.kind}/{file}'


def _study(place: Place, study: Study, streams: Mapping[str, Given]) -> Iterator[Problem]:
    variants = {}
    for (variant, pipeline), (name, stream) in product(study.learners.items(), streams.items()):
        fitted = _fitted(_parts(pipeline), _part_of_model(study), stream)
        if fitted is None:
            continue
        if fitted.misfit is None:
            variants[name, variant] = fitted
        else:
            position, misfit = fitted.misfit
            yield (*place, "methods", variant, "pipeline", position), _reason(misfit)
    for position in range(len(study.words)):
        if (first := streams.get(study.streams[0])) and first.kind != "counts":
            words = f"words are those of counts, and {first.giver.label} gives {told([first.kind])}"
            yield (*place, "words", position), f"{words}; take them out"
    peers = Peers(streams, variants)
    for position, metric in enumerate(study.metrics):
        for text in _judging(_any_known("metrics", metric), peers):
            yield (*place, "metrics", position), text
    for position, artefact in enumerate(study.artefacts):
        part = _any_known("artefacts", artefact)
        for text in (*_judging(part, peers), *_drawing(part, study, streams)):
            yield (*place, "artefacts", position), text


def _tuning(place: Place, study: Study, config: Config) -> Iterator[Problem]:
    """Misfits of single values that are tried, and of the metric that decides."""
    assert study.tuning is not None
    changed = {
        name: Stream(family=stream.family, **stream.settings | study.tuning.streams)
        for name in study.streams
        if (stream := config.streams.get(name))
    }
    found = {name: given(name, stream) for name, stream in changed.items()}
    streams = {name: one for name, one in found.items() if one}
    model = _part_of_model(study)
    tuned = {name: study.learners.get(name, []) for name in study.tuning.methods}
    variants: dict[tuple[str, str], Fitted] = {}
    for (learner, pipeline), (name, stream) in product(tuned.items(), streams.items()):
        fitted = _fitted(_parts(pipeline), model, stream)
        if fitted is None or fitted.misfit:
            continue
        variants[name, learner] = fitted
        for key, values in study.tuning.methods[learner].items():
            trials = (_fitted(_parts(_with(pipeline, key, v)), model, stream) for v in values)
            for _, misfit in (one.misfit for one in trials if one and one.misfit):
                yield (*place, "methods", learner, key), _reason(misfit)
    metric = _any_known("metrics", study.tuning.metric)
    for learner in tuned:
        own = {key: one for key, one in variants.items() if key[1] == learner}
        for text in _judging(metric, Peers(streams, own)):
            yield (*place, "metric"), text


def _with(pipeline: Sequence[Component], key: str, value: Any) -> list[Component]:
    """The pipeline with another value of a setting, as component.key."""
    component, _, setting = key.partition(".")
    return [
        (name, {**settings, setting: value} if name == component else settings)
        for name, settings in pipeline
    ]


def _fitted(parts: Sequence[Part] | None, model: Part | None, stream: Given) -> Fitted | None:
    """A pipeline on a stream; None where a part of it has another error."""
    if parts is None:
        return None
    now = stream
    for position, part in enumerate(parts):
        if part.kind == "learners" and model and _trains(part) and _takes(part, now.kind):
            if misfit := _misfit(model, now):
                return Fitted((position, misfit))
            has = {**now.has, **dict.fromkeys(model.words("HAS"), model)}
            now = now._replace(has=has, model=model)
        if misfit := _misfit(part, now):
            return Fitted((position, misfit))
        if part.kind == "combinators":
            now = _inside(part, now)
    return _outwards(parts, declared.literal("learners", parts[-1].name, "TAKES")[now.kind], now)


def _inside(part: Part, now: Given) -> Given:
    """What a combinator hands on to what is inside."""
    own = dict.fromkeys(part.words("HAS"), part)
    for kind in part.words("GIVES"):
        return Given(kind, part, own)
    return now._replace(has={**now.has, **own})


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


def _reason(misfit: Misfit | Lack) -> str:
    """Why a pipeline does not fit, and what to do."""
    return _why(misfit) if isinstance(misfit, Misfit) else _why_lacking(misfit)


def _why_lacking(lack: Lack) -> str:
    part, inner, words, learner, _ = lack
    if "boundary" in words:
        text = f"{part.label} does not pass on what the protocol reveals, and {learner.label}"
        return f"{text} needs to be told it; take {part.label} out"
    text = f"{part.label} needs {told(sorted(words))} inside it, and {inner.label} has none"
    return f"{text}; {_other_inside(lack)}"


def _other_inside(lack: Lack) -> str:
    """What to put into a combinator that lacks something."""
    part, _, needed, learner, now = lack
    if needed <= learner.words("OFFERS"):
        return f"put {learner.label} directly inside {part.label}"
    possible = declared.possible("learners", learner.name, "OFFERS")
    if needed <= possible.keys():
        return " and ".join(f"set {_spelled(possible[word], learner)}" for word in sorted(needed))
    found = [
        name
        for name in _learners_for(now)
        if part.words("INSIDE") <= _any("learners", name).words("OFFERS")
    ]
    return _take(found, "inside it") if found else f"take {part.label} out"


def _misfit(part: Part, now: Given) -> Misfit | None:
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
    takes = declared.literal(part.kind, part.name, "TAKES")
    return kind in takes if takes is not None else part.kind != "learners"


def _why(misfit: Misfit) -> str:
    """The reason of a misfit and the remedy."""
    part, now, constant, word = misfit
    if constant == "WRONG":
        return f"{part.label}: {word}"
    if constant == "TAKES":
        takes = declared.literal(part.kind, part.name, "TAKES")
        if takes is None:
            return _silent(part, "takes", "TAKES")
        text = f"{part.label} takes {told(takes, 'or')}, and {now.giver.label} gives"
        return f"{text} {told([word])}; {_other_kind(part, takes, now)}"
    if constant == "REQUIRES":
        owner = _owner(word, now)
        text = f"{part.label} needs {told([word])}, which {owner.label} does not have"
        return f"{text}; {_with_word(word, owner)}"
    owner = now.has.get(word, now.giver)
    text = f"{part.label} does not go with {told([word])}, which {owner.label} has"
    return f"{text}; {_without_word(word, part, owner)}"


def _other_kind(part: Part, takes: Iterable[str], now: Given) -> str:
    """What to do about a component that takes other kinds of problem."""
    if part.kind == "learners":
        for name in components.names("combinators"):
            between = _any("combinators", name)
            if between.words("GIVES") & set(takes) and _misfit(between, now) is None:
                return f'put "{name}" before it'
        return _take(_learners_for(now))
    if part.kind == "models":
        models = [name for name in components.names("models") if name != part.name]
        return _take([name for name in models if _misfit(_any("models", name), now) is None])
    return f"take {part.label} out, or take another stream"


def _learners_for(now: Given) -> list[str]:
    """The learners that can be given this, with some settings of theirs."""
    names = components.names("learners")
    return [name for name in names if _misfit(_any("learners", name), now) is None]


def _owner(word: str, now: Given) -> Part:
    """Who should have a property that is not there: the model where models have it."""
    names = components.names("models")
    of_models = any(word in declared.possible("models", name, "HAS") for name in names)
    return now.model if of_models and now.model else now.giver


def _with_word(word: str, owner: Part) -> str:
    """How to get a property: by a setting of its owner, or from another one."""
    when = declared.possible(owner.kind, owner.name, "HAS").get(word)
    if when is not None:
        return f"set {_spelled(when, owner)}"
    others = [
        (name, possible[word])
        for name in components.names(owner.kind)
        if word in (possible := declared.possible(owner.kind, name, "HAS"))
    ]
    if not others:
        return "no component has it"
    named = [name if when is True else f"{name} ({_spelled(when)})" for name, when in others]
    what = {"streams": "a stream of ", "models": "the model "}.get(owner.kind, "")
    return f"take {what}{listed(named, 'or')}"


def _without_word(word: str, part: Part, owner: Part) -> str:
    """How to get rid of a property, or of who minds it."""
    own = declared.possible(part.kind, part.name, "REFUSES")[word]
    if own is not True:
        return f"set {_negated(own)} of {part.label}"
    when = declared.possible(owner.kind, owner.name, "HAS").get(word, True)
    if when is not True:
        return f"set {_negated(when)} of {owner.label}"
    if owner.kind == "combinators":
        return f"take {owner.label} out"
    if part.kind == "combinators" and word in KINDS:
        inner = _between(word)
        return f"put it behind {listed(inner, 'or')}" if inner else f"take {part.label} out"
    return f"take {part.label} out, or take another stream"


def _between(kind: str) -> list[str]:
    """Combinators that make another kind of problem of this one."""
    names = components.names("combinators")
    return [
        f'"{name}"'
        for name in names
        if kind in (declared.literal("combinators", name, "TAKES") or ())
        and declared.literal("combinators", name, "GIVES")
    ]


def _judging(part: Part | None, peers: Peers) -> Iterator[str]:
    """Why a metric or an artefact cannot be had of these streams and learners."""
    if part is None:
        return
    wrong = [_why(misfit) for now in peers.streams.values() if (misfit := _misfit(part, now))]
    yield from wrong
    if wrong or not peers.variants:
        return
    judges, needed = part.words("JUDGES"), part.words("FROM")
    other: dict[str, list[str]] = {}
    for (_, variant), fitted in peers.variants.items():
        if judges and fitted.prediction not in judges:
            other.setdefault(fitted.prediction, []).append(variant)
    for prediction, variants in other.items():
        names = listed(f'"{name}"' for name in dict.fromkeys(variants))
        text = f"{part.label} judges {told(sorted(judges), 'or')}, and {names} predict"
        yield f"{text} {told([prediction])}; {_other_metric(part, prediction, peers)}"
    if needed and not any(needed <= fitted.offers for fitted in peers.variants.values()):
        yield f"{part.label} needs a learner with {_lacking(part, needed, peers)}"


def _other_metric(part: Part, prediction: str, peers: Peers) -> str:
    metrics = (_any("metrics", name) for name in components.names("metrics"))
    found = [
        one.name
        for one in metrics
        if prediction in one.words("JUDGES")
        and not any(_misfit(one, now) for now in peers.streams.values())
    ]
    instead = f", and take {listed(found[:MOST_NAMES], 'or')} instead" if found else ""
    return f"take {part.label} out of the metrics{instead}"


def _lacking(part: Part, needed: frozenset[str], peers: Peers) -> str:
    """What no learner of the study offers, and who would."""
    offered = frozenset().union(*(fitted.offers for fitted in peers.variants.values()))
    words = sorted(needed - offered) or sorted(needed)
    found = [
        f'"{name}"{"" if when is True else f" ({_spelled(when)})"}'
        for kind in ("combinators", "learners")
        for name in components.names(kind)
        for word in words
        if (when := _offered(kind, name).get(word))
    ]
    use = f"use {listed(dict.fromkeys(found), 'or')}" if found else "add one"
    return f"{told(words)}, and the study has none; {use}, or take {part.label} out"


def _offered(kind: str, name: str) -> Mapping[str, When]:
    theorems = declared.possible(kind, name, "THEOREM").values()
    offers = declared.possible(kind, name, "OFFERS")
    return {**offers, "theorem": next(iter(theorems))} if theorems else offers


def _drawing(part: Part | None, study: Study, streams: Mapping[str, Given]) -> Iterator[str]:
    """What an artefact needs of the study beside streams and learners."""
    if part is None:
        return
    uses = declared.literal("artefacts", part.name, "USES") or ()
    if missing := [metric for metric in uses if metric not in study.metrics]:
        yield f"{part.label} shows {listed(missing)}; add {_it(missing)} to the metrics"
    for key in _absent(part, study):
        yield (
            f"{part.label} compares with a {key}, which the study does not name; add"
            f" `{key}: METHOD`, or take {part.label} out"
        )
    if claims := declared.literal("artefacts", part.name, "CLAIMS"):
        yield from _unclaimed(part, claims, study, streams)


def _absent(part: Part, study: Study) -> list[str]:
    """The keys of what a component compares with that the study does not have."""
    keys = declared.literal(part.kind, part.name, "COMPARES") or ()
    return [key for key in keys if getattr(study, key) is None]


def _it(items: Sequence[str]) -> str:
    return "it" if len(items) == 1 else "them"


def _unclaimed(part: Part, file: str, study: Study, streams: Mapping[str, Given]) -> Iterator[str]:
    datasets = {_dataset(now) for now in streams.values()}
    for claim in _claims(part.name, file):
        learners = {claim["learner"], claim.get("relative_to", claim["learner"])}
        known = learners <= study.learners.keys() and claim["metric"] in study.metrics
        if known and claim["dataset"] in datasets:
            return
    if streams:
        yield (
            f"{part.label} has no claim about the streams, learners and metrics of the study;"
            " take it out"
        )


def _dataset(now: Given) -> Any:
    return (now.giver.settings or {}).get("dataset")


@cache
def _claims(artefact: str, file: str) -> tuple[dict[str, Any], ...]:
    text = components.path("artefacts", artefact).with_name(file).read_text(encoding="utf-8")
    return tuple(yaml.safe_load(text))


def _pipelines(stream: Given) -> dict[tuple[Part, ...], Fitted]:
    """Learners alone and in one or two combinators that fit, with some settings of theirs."""
    outer = [_any("combinators", name) for name in components.names("combinators")]
    found = {}
    for name in components.names("learners"):
        learner = _any("learners", name)
        around = [(), *((one,) for one in outer), *product(outer, outer)]
        for parts in ((*combinators, learner) for combinators in around):
            fitted = _fitted(parts, _any_model(learner, stream), stream)
            if fitted is not None and fitted.misfit is None:
                found[parts] = fitted
    return found


def _usable(part: Part, stream: Given, fitted: Sequence[Fitted]) -> bool:
    """Whether a metric or an artefact can be had of a stream with some learner."""
    if _misfit(part, stream) is not None:
        return False
    judges, needed = part.words("JUDGES"), part.words("FROM")
    uses = declared.literal(part.kind, part.name, "USES") or ()
    if not all(_usable(_any("metrics", name), stream, fitted) for name in uses):
        return False
    claims = declared.literal(part.kind, part.name, "CLAIMS")
    if claims and _dataset(stream) not in {one["dataset"] for one in _claims(part.name, claims)}:
        return False
    return any((not judges or f.prediction in judges) and needed <= f.offers for f in fitted)


def _parts(pipeline: Sequence[Component]) -> tuple[Part, ...] | None:
    """The components of a pipeline; None where one has another error."""
    *outer, inmost = pipeline or [("", {})]
    kinds = [*[("combinators", one) for one in outer], ("learners", inmost)]
    parts = [_part(kind, one, f'"{one[0]}"') for kind, one in kinds]
    return None if None in parts else tuple(part for part in parts if part)


def _part_of_model(study: Study) -> Part | None:
    return study.model and _part("models", study.model, f'model "{study.model[0]}"')


def _part(kind: str, component: Component, label: str) -> Part | None:
    """A component with all its settings; None for an unknown name or wrong settings."""
    name, settings = component
    if name not in components.names(kind):
        return None
    try:
        return Part(kind, name, components.check(kind, name, settings), label)
    except ValidationError:
        return None


def _any(kind: str, name: str) -> Part:
    """A component with some settings."""
    return Part(kind, name, None, f'"{name}"')


def _any_known(kind: str, name: str) -> Part | None:
    return _any(kind, name) if name in components.names(kind) else None


def _any_model(learner: Part, stream: Given) -> Part | None:
    """The model with which a learner has the most of what it needs on a stream."""
    if not _trains(learner):
        return None
    models = [_any("models", name) for name in components.names("models")]
    suit = [
        one
        for one in models
        if _misfit(one, stream) is None and not one.words("HAS") & learner.words("REFUSES")
    ]
    needed = learner.words("REQUIRES")
    return max(suit, key=lambda one: len(one.words("HAS") & needed), default=None)


def _trains(part: Part) -> bool:
    return bool(components.constant("learners", part.name, "MODEL", False))


def _take(names: Sequence[str], where: str = "") -> str:
    """The advice to take one of these."""
    if not names:
        return "no component fits; take another stream"
    more = ["another one"] if len(names) > MOST_NAMES else []
    return f"take {listed([*names[:MOST_NAMES], *more], 'or')} {where}".rstrip()


def _spelled(when: When, part: Part | None = None) -> str:
    """Settings with which something holds, as a person would write them; unmet ones of a part."""
    if isinstance(when, bool):
        return "any settings"
    first = when if isinstance(when, Mapping) else when[0]
    settings = part.settings if part else None
    unmet = [
        (key, values)
        for key, values in first.items()
        if settings is None or not declared.holds({key: values}, settings)
    ]
    return " and ".join(_setting(key, values) for key, values in unmet or first.items())


def _negated(when: When) -> str:
    """A setting with which something no longer holds."""
    if isinstance(when, bool):
        return "other settings"
    first = when if isinstance(when, Mapping) else when[0]
    key, values = next(iter(first.items()))
    if key.startswith(NOT):
        return _setting(key.removeprefix(NOT), values)
    if all(isinstance(value, bool) for value in values):
        return _setting(key, tuple(not value for value in values))
    return _setting(NOT + key, values)


def _setting(key: str, values: tuple) -> str:
    spelled = listed([_value(value) for value in values], "or")
    if key.startswith(NOT):
        return f"{key.removeprefix(NOT)} other than {spelled}"
    return f"{key}: {spelled}"


def _value(value: Any) -> str:
    """A value as it is written in a config."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(map(_value, value))}]" if isinstance(value, tuple) else str(value)

"""Finds components of a config that do not fit together, from what they declare.

Pipelines have to fit streams (`compatible_pipelines`). Metrics and artefacts have conditions on the
streams, on all predictions, and on what at least one method offers. Every message has the reason
and the remedy (`compatibility_reasons`). Other errors, such as an unknown name, are left to
`config_checks`. The phrases for the words are in `compatibility_words`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from shiftbench.config import components, random_settings, tuning
from shiftbench.config.compatibility_reasons import (
    it_or_them,
    other_metric,
    reason_for,
    silence,
    spelled,
    why,
)
from shiftbench.config.compatibility_words import in_words, listed
from shiftbench.config.compatible_pipelines import (
    Fitted,
    Given,
    Part,
    Peers,
    any_part,
    fit_pipeline,
    fitting_pipelines,
    given,
    known_part,
    misfit_of,
    part_of,
    part_of_model,
    parts_of,
)
from shiftbench.config.schema import Config, Stream, Study
from shiftbench.config.tuning import TRIALS
from shiftbench.config.yaml_lines import KeyPath as Place
from shiftbench.core.facts import Condition, Facts

Problem = tuple[Place, str]
COVERAGE = "interval_coverage"
"""The metric that tells whether predictions of real values are calibrated."""
COMPARED = ("baseline", "reference")
"""Keys of a study without which a metric has no scores, and an artefact cannot be made."""
OF_STUDY = {
    "axes": "{0} shows a grid of streams; give the study `axes`, or take it out",
    "configurations": "{0} shows `configurations`; give the study some, or take it out",
    "predictions": "{0} is taken from the predictions of each row; add `keeps: [predictions]`",
} | dict.fromkeys(
    COMPARED,
    "{0} compares with a {1}, which the study does not name; add `{1}: METHOD`, or take {0} out",
)
"""Messages for keys that a study lacks, of the component (0) and the key (1)."""


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
        if study.configurations:
            yield from _configurations(name, study, known)  # type: ignore[arg-type]


def notes(config: Config) -> Iterator[str]:
    """Yield a note for each metric of a config that fits but will have no scores."""
    trials = {name + TRIALS for name, study in config.studies.items() if study.tuning}
    for name, study in config.studies.items():
        if name not in trials:
            yield from _notes(name, study, config)


def _notes(name: str, study: Study, config: Config) -> Iterator[str]:
    streams = {stream: given(stream, config.streams[stream]) for stream in study.streams}
    for metric in study.metrics:
        part = any_part("metrics", metric)
        for stream, now in streams.items():
            for word in sorted(part.words("blank") & now.has.keys()) if now else ():
                text = f'{part.label} stays empty on stream "{stream}", which has'
                yield f"{name}: {text} {in_words([word])}"
        for key in sorted({*COMPARED} & {*_absent(part, study)}):
            yield f"{name}: {part.label} stays empty without a `{key}`"
    if _calibration_unknown(study, config, streams):
        yield f"{name}: add {COVERAGE} to its metrics to see whether predictions are calibrated"


def _calibration_unknown(study: Study, config: Config, streams: Mapping[str, Given | None]) -> bool:
    """Return whether a study on a user's real values lacks COVERAGE although it could use it."""
    judge = any_part("metrics", COVERAGE)
    own = [now for key, now in streams.items() if now and config.streams[key].settings.get("path")]
    fitted = [
        fit_pipeline(parts_of(pipeline), part_of_model(study), now)
        for pipeline, now in product(study.pipelines.values(), own)
    ]
    predicted = {one.prediction for one in fitted if one is not None}
    known = bool(predicted) and predicted <= judge.words("judges")
    return known and COVERAGE not in study.metrics


def fitting(kind: str, stream: Given) -> list[str]:
    """Return the components of a kind that fit a stream with some settings of theirs."""
    if kind in ("learners", "combinators"):
        found = {part.name for pipeline in fitting_pipelines(stream) for part in pipeline}
        return [name for name in components.names(kind) if name in found]
    parts = (any_part(kind, name) for name in components.names(kind))
    if kind == "models":
        return [part.name for part in parts if misfit_of(part, stream) is None]
    fitted = list(fitting_pipelines(stream).values())
    return [part.name for part in parts if _usable(part, stream, fitted)]


def described(kind: str, name: str) -> str:
    """Return the facts of a component in a line; empty where it has none."""
    facts, lines = components.facts(kind, name), []
    for fact in dataclasses.fields(Facts):
        if fact.name in ("reveals", "model"):
            continue
        possible = facts.possible(fact.name)
        if possible and fact.name == "takes" and kind == "learners":
            words = [f"`{taken}` (predicts `{what}`)" for taken, what in possible.items()]
        else:
            words = [_described(word, when) for word, when in possible.items()]
        if words:
            lines.append(f"{fact.name} {', '.join(words)}")
    return f"Fits: {'; '.join(lines)}." if lines else ""


def _described(word: str, when: Condition) -> str:
    if when is True:
        return f"`{word}`"
    alternatives = [when] if isinstance(when, Mapping) else when
    assert not isinstance(alternatives, bool)
    return f"`{word}` ({'; or '.join(spelled(one) for one in alternatives)})"


def _undeclared(place: Place, name: str, stream: Stream) -> Iterator[Problem]:
    part = part_of("streams", (stream.family, stream.settings), f'stream "{name}"')
    if part is None:
        return
    for text in part.wrong():
        yield place, f"{part.label}: {text}"
    if len(part.kinds()) != 1:
        yield (*place, "family"), silence(part, "gives")


def _study(place: Place, study: Study, streams: Mapping[str, Given]) -> Iterator[Problem]:
    methods = {}
    for (method, pipeline), (name, stream) in product(study.pipelines.items(), streams.items()):
        fitted = fit_pipeline(parts_of(pipeline), part_of_model(study), stream)
        if fitted is None:
            continue
        if fitted.misfit is None:
            methods[name, method] = fitted
        else:
            position, misfit = fitted.misfit
            yield (*place, "methods", method, "pipeline", position), reason_for(misfit)
    for position in range(len(study.words)):
        if (first := streams.get(study.streams[0])) and first.kind != "counts":
            given = f"{first.giver.label} gives {in_words([first.kind])}"
            message = f"words are those of counts, and {given}; take them out"
            yield (*place, "words", position), message
    peers = Peers(streams, methods)
    yield from _keeping(place, study, peers)
    yield from _looking(place, study)
    for kind in ("metrics", "artefacts"):
        for position, name in enumerate(getattr(study, kind)):
            if part := known_part(kind, name):
                for text in (*_judging(part, peers), *_of_study(part, study)):
                    yield (*place, kind, position), text


def _keeping(place: Place, study: Study, peers: Peers) -> Iterator[Problem]:
    """Find learners whose predictions cannot be kept, because they are not of classes."""
    found = {name: fit.prediction for (_, name), fit in peers.methods.items()}
    other = [name for name, prediction in found.items() if prediction != "categorical"]
    if study.keeps and other:
        names = listed(f'"{name}"' for name in other)
        text = f"predictions are kept of {in_words(['categorical'])}, and {names} predict"
        yield (*place, "keeps"), f"{text} {in_words([found[other[0]]])}; take `keeps` out"


def _looking(place: Place, study: Study) -> Iterator[Problem]:
    """Find learners without steps inside a task, and metrics that have no scores there."""
    if study.looks == 1:
        return
    known = {name: known_part("learners", line[-1][0]) for name, line in study.pipelines.items()}
    other = [name for name, part in known.items() if part and part.facts.model is not True]
    if other:
        names = listed(f'"{name}"' for name in other)
        text = f"looks are between the steps by which a learner fits a network, and {names} fit"
        yield (*place, "looks"), f"{text}{'s' * (len(other) == 1)} none; take `looks` out"
    found = [name for name in study.metrics if name in components.names("metrics")]
    if found and all(components.metric(name).stage != "after" for name in found):
        text = "a look judges test data, and no metric of the study does; add one such as accuracy"
        yield (*place, "looks"), f"{text}, or take `looks` out"


def _tuning(place: Place, study: Study, config: Config) -> Iterator[Problem]:
    """Find misfits of single values that trials use, and of the metric that chooses."""
    assert study.tuning is not None
    changed = {
        name: tuning.on_trial(stream, study.tuning)
        for name in study.streams
        if (stream := config.streams.get(name))
    }
    found = {name: given(name, stream) for name, stream in changed.items()}
    streams = {name: one for name, one in found.items() if one}
    model = part_of_model(study)
    methods: dict[tuple[str, str], Fitted] = {}
    for (method, pipeline), (name, stream) in product(study.pipelines.items(), streams.items()):
        fitted = fit_pipeline(parts_of(pipeline), model, stream)
        if fitted is None or fitted.misfit:
            continue
        methods[name, method] = fitted
        for key, values in tuning.space(study, method).items():
            if key.partition(".")[0] not in dict(pipeline):
                continue
            tried = (parts_of(tuning.applied(pipeline, {key: value})) for value in values)
            trials = (fit_pipeline(parts, model, stream) for parts in tried)
            for _, misfit in (one.misfit for one in trials if one and one.misfit):
                yield (*place, "methods", method, key), reason_for(misfit)
    metric = known_part("metrics", study.tuning.metric)
    for method in study.pipelines:
        own = {key: one for key, one in methods.items() if key[1] == method}
        for text in _judging(metric, Peers(streams, own)) if metric else ():
            yield (*place, "metric"), text


def _configurations(name: str, study: Study, streams: Mapping[str, Given]) -> Iterator[Problem]:
    """Find configurations with which a method no longer fits; each reason once."""
    model, seen = part_of_model(study), set[str]()
    for (method, pipeline), stream in product(study.pipelines.items(), streams.values()):
        fitted = fit_pipeline(parts_of(pipeline), model, stream)
        if fitted is None or fitted.misfit:
            continue
        for seed in range(study.seeds):
            parts = parts_of(random_settings.pipeline(name, study, method, seed))
            tried = fit_pipeline(parts, model, stream)
            text = reason_for(tried.misfit[1]) if tried and tried.misfit else ""
            if text not in {*seen, ""}:
                yield ("studies", name, "configurations"), f"{method}, seed {seed}: {text}"
            seen.add(text)


def _judging(part: Part, peers: Peers) -> Iterator[str]:
    """Yield the reasons why a metric or an artefact does not fit these streams and methods."""
    wrong = [why(misfit) for now in peers.streams.values() if (misfit := misfit_of(part, now))]
    yield from wrong
    if wrong or not peers.methods:
        return
    judges, needed = part.words("judges"), part.words("from_learner")
    other: dict[str, list[str]] = {}
    for (_, method), fitted in peers.methods.items():
        if judges and fitted.prediction not in judges:
            other.setdefault(fitted.prediction, []).append(method)
    for prediction, methods in other.items():
        names = listed(f'"{name}"' for name in dict.fromkeys(methods))
        text = f"{part.label} judges {in_words(sorted(judges), 'or')}, and {names} predict"
        yield f"{text} {in_words([prediction])}; {other_metric(part, prediction, peers)}"
    if needed and not any(needed <= fitted.offers for fitted in peers.methods.values()):
        yield f"{part.label} needs a learner with {_lacking(part, needed, peers)}"


def _lacking(part: Part, needed: frozenset[str], peers: Peers) -> str:
    """Say which abilities no method of the study offers, and which components offer them."""
    offered = frozenset().union(*(fitted.offers for fitted in peers.methods.values()))
    words = sorted(needed - offered) or sorted(needed)
    found = [
        f'"{name}"{"" if when is True else f" ({spelled(when)})"}'
        for kind in ("combinators", "learners")
        for name in components.names(kind)
        for word in words
        if (when := components.facts(kind, name).possible("offers").get(word))
    ]
    use = f"use {listed(dict.fromkeys(found), 'or')}" if found else "add one"
    return f"{in_words(words)}, and the study has none; {use}, or take {part.label} out"


def _of_study(part: Part, study: Study) -> Iterator[str]:
    """Yield what else of the study a metric or an artefact needs, beside streams and methods."""
    artefact = part.kind == "artefacts"
    missing = [metric for metric in part.facts.uses if metric not in study.metrics]
    if missing and artefact:
        yield f"{part.label} shows {listed(missing)}; add {it_or_them(missing)} to the metrics"
    for key in _absent(part, study):
        if artefact or key not in COMPARED:
            yield OF_STUDY[key].format(part.label, key)


def _absent(part: Part, study: Study) -> list[str]:
    """Return the keys that a component needs and the study does not have."""
    has = {key for key in OF_STUDY if getattr(study, key, None)} | {*study.keeps}
    return [key for key in part.facts.study if key in OF_STUDY.keys() - has]


def _usable(part: Part, stream: Given, fitted: Sequence[Fitted]) -> bool:
    """Return whether a metric or an artefact fits a stream with some learner."""
    if misfit_of(part, stream) is not None:
        return False
    judges, needed = part.words("judges"), part.words("from_learner")
    if not all(_usable(any_part("metrics", name), stream, fitted) for name in part.facts.uses):
        return False
    return any((not judges or f.prediction in judges) and needed <= f.offers for f in fitted)

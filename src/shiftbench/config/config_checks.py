"""Checks of a composed config, which find all issues at once.

Each check skips data of a wrong form, so that an error in one place hides none in another.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from shiftbench.config import (
    compatibility,
    component_checks,
    components,
    device_checks,
    form_errors,
    seed_checks,
    space_checks,
    trial_checks,
)
from shiftbench.config.base_model import keys
from shiftbench.config.component_checks import (
    as_list,
    mapping,
    name_and_settings,
    pipelines,
)
from shiftbench.config.pipeline_parts import by_kind
from shiftbench.config.schema import Config, Study, StudyMethod, Tuning
from shiftbench.config.yaml_lines import Issue, KeyPath
from shiftbench.core.suggestions import nearest, unknown

RESERVED = {"all": "all studies", "overview": "what is made of all studies"}
"""Names that no study can have."""
MAX_RUNS = 100_000
"""The most runs of a study or of its trials; planning far more would never end."""


class Checked(NamedTuple):
    """The config with all defaults filled in, None if its form is wrong; and all issues."""

    config: Config | None
    issues: list[Issue]


def check(data: dict[str, Any]) -> Checked:
    """Check a composed config."""
    filled = json.loads(json.dumps(data))  # a copy, faster than copy.deepcopy
    issues = list(component_checks.fill(filled))
    # Streams as written: trials may be on another family, which lacks some defaults of this one.
    streams = mapping(data.get("streams"))
    for name, study in mapping(filled.get("studies")).items():
        issues += _of_study(("studies", name), mapping(study), streams)
    config = None
    try:
        # A strict model takes no list for a tuple, but in JSON it does.
        config = Config.model_validate_json(json.dumps(filled))
        issues += _of_whole(config)
    except ValidationError as error:  # also of streams of trials
        issues += of_form(error, _owner)
    return Checked(config, issues)


def of_form(error: ValidationError, owner: Callable[[KeyPath], type[BaseModel]]) -> Iterator[Issue]:
    """Find what does not have the form of a model. owner: returns the model at an unknown key."""
    for item in error.errors(include_url=False):
        # "[key]" is pydantic's sign for the key itself.
        place = tuple(part for part in item["loc"] if part != "[key]")
        if item["type"] in form_errors.UNKNOWN_KEY:
            yield place, unknown("key", place[-1], keys(owner(place)))
        else:
            yield place, form_errors.message(item)


def _owner(place: KeyPath) -> type[BaseModel]:
    """Return the model that lacks the last key of a place."""
    inner: dict[Any, type[BaseModel]] = {"tuning": Tuning, "methods": StudyMethod}
    return next((inner[part] for part in place[2:-1] if part in inner), Study)


def _of_whole(config: Config) -> Iterator[Issue]:
    """Find parts of a well-formed config that do not fit together."""
    yield from _too_many_runs(config)
    yield from _shared_names(config)
    yield from compatibility.problems(config)
    yield from seed_checks.issues(config)
    yield from trial_checks.issues(config)
    yield from device_checks.issues(config)


def _too_many_runs(config: Config) -> Iterator[Issue]:
    """Find studies and tunings with more runs than can be planned."""
    for name, study in config.studies.items():
        counts = {"seeds": (len(study.methods), study.seeds)}
        if tuning := study.tuning:
            counts["tuning"] = len(study.methods) * tuning.trials, tuning.seeds
        for key, (methods, seeds) in counts.items():
            of_job = 1 if study.configurations else study.seeds_per_job or config.seeds_per_job
            runs = len(study.streams) * methods * -(-seeds // of_job)
            if runs > MAX_RUNS:
                message = f"{runs:,} runs, but at most {MAX_RUNS:,} can be planned; raise"
                yield ("studies", name, key), f"{message} seeds_per_job, or ask for fewer"


def _shared_names(config: Config) -> Iterator[Issue]:
    """Find methods that share a label with another method of the study."""
    for name, study in config.studies.items():
        shown = Counter(map(study.label, study.methods))
        for method in study.methods:
            if shown[method] > 1 and study.label(method) == method:
                message = f'another method has the label "{method}"; write another label there'
                yield ("studies", name, "methods", method), message


def _of_study(place: KeyPath, study: dict, streams: dict) -> Iterator[Issue]:
    """Find names in a study that do not exist, and settings of trials that do not fit."""
    if place[-1] in RESERVED:
        yield place, f'the name "{place[-1]}" stands for {RESERVED[str(place[-1])]}; choose another'
    for key, what, known in [
        ("streams", "stream", streams),
        ("metrics", "metric", components.names("metrics")),
        ("artefacts", "artefact", components.names("artefacts")),
    ]:
        yield from _name_issues((*place, key), what, study.get(key), known)
    for kind in ("metrics", "artefacts"):
        for position, name in enumerate(as_list(study.get(kind))):
            if name in components.names(kind):
                yield from component_checks.missing_packages((*place, kind, position), kind, name)
    yield from _of_compared_methods(place, study)
    yield from _of_used_metrics(place, study)
    yield from _of_claim_artefacts(place, study)
    for name, pipeline in pipelines(study).items():
        for position, (kind, item) in enumerate(by_kind(pipeline)):
            where = (*place, "methods", name, "pipeline", position)
            yield from _of_needs(where, kind, item, study)
    if study.get("tuning") is not None:
        yield from space_checks.of_tuning(
            (*place, "tuning"), mapping(study["tuning"]), study, streams
        )
    for number, space in enumerate(as_list(study.get("configurations"))):
        yield from space_checks.of_configurations(
            (*place, "configurations", number), mapping(space), study
        )


def _name_issues(place: KeyPath, what: str, values: Any, known: Iterable[str]) -> Iterator[Issue]:
    """Find names in a list that do not exist or are repeated."""
    values = as_list(values)
    for position, value in enumerate(values):
        if isinstance(value, str) and value not in known:
            yield (*place, position), unknown(what, value, known)
        if value in values[:position]:
            yield (*place, position), f'"{value}" is listed twice'


def _of_compared_methods(place: KeyPath, study: dict) -> Iterator[Issue]:
    """Find a `baseline` or `reference` that is not a method of the study."""
    methods = pipelines(study)
    for key in ("baseline", "reference"):
        name = study.get(key)
        if not isinstance(name, str) or name in methods:
            continue
        if nearest(name, methods):
            yield (*place, key), unknown("method of the study", name, methods)
        else:
            message = f'the `{key}` of the study, "{name}", is not among them; add it, or write'
            yield (*place, "methods"), f"{message} `{key}: null` in the study"


def _of_used_metrics(place: KeyPath, study: dict) -> Iterator[Issue]:
    """Find metrics that are computed from the scores of others which the study lacks."""
    metrics = as_list(study.get("metrics"))
    for position, metric in enumerate(metrics):
        known = metric in components.names("metrics")
        for used in components.facts("metrics", metric).uses if known else ():
            if used not in metrics:
                where = (*place, "metrics", position)
                yield where, f'"{metric}" is taken from "{used}"; add it to the metrics'


def _of_claim_artefacts(place: KeyPath, study: dict) -> Iterator[Issue]:
    """Find artefacts that every study with claims has without listing them."""
    for position, name in enumerate(as_list(study.get("artefacts"))):
        known = name in components.names("artefacts")
        if known and "claims" in components.facts("artefacts", name).study:
            message = f'"{name}" is made for every study that judges a claim; take it out'
            yield (*place, "artefacts", position), message


def _of_needs(place: KeyPath, kind: str, item: Any, study: dict) -> Iterator[Issue]:
    """Find what a component needs of the study: revealed information, or a model."""
    name, _ = name_and_settings(item)
    if name not in components.names(kind):
        return
    revealed = as_list(study.get("reveals"))
    for need in components.facts(kind, name).reveals:
        if need not in revealed:
            message = f'"{name}" needs to know "{need}"; add it to the study\'s `reveals`'
            yield (*place, name), message
    form = kind == "learners" and components.facts(kind, name).model
    if form and study.get("model") is None:
        yield (*place, name), f'"{name}" fits a model; give the study a `model`'
    elif form and (message := _unserved(name, form, name_and_settings(study["model"])[0])):
        yield (*place, name), message


def _unserved(learner: str, form: bool | str, model: str | None) -> str:
    """Return why a learner cannot get the model in the form that it needs; empty if it can."""
    if model is None or model not in components.names("models"):
        return ""
    ours = components.package_of("models", model) == components.OURS
    function = "describe" if form == "shapes" else "build"
    if ours or components.defines("models", model, function):
        return ""
    place = components.path("models", model)
    what = "the shapes of a model" if form == "shapes" else "a model to compute with"
    return f'"{learner}" takes {what}; give {place} a function `{function}(settings, problem)`'

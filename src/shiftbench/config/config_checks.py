"""What can be wrong with a config, found all at once on the data as they were written.

Every check takes the data as far as they have the right form, so that an error in one
place hides none in another.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from shiftbench.config import compatibility, components, device_checks, seed_checks, user_components
from shiftbench.config.base_model import keys
from shiftbench.config.schema import Config, Study, StudyMethod, Tuning, one_component
from shiftbench.config.yaml_lines import Place
from shiftbench.core.suggestions import nearest, unknown
from shiftbench.data.store import raw

Problem = tuple[Place, str]

RENAMED = {"learners": "methods"}
"""Keys of older configs."""
RESERVED = {"all": "all studies", "overview": "what is made of all studies"}
"""Names that no study can have."""
MAX_RUNS = 100_000
"""Of a study, and of its trials; what is far above it would never be planned to the end."""
MAX_POINTS = 10**9
"""Of a grid that trials are drawn from."""


def problems(data: dict[str, Any]) -> Iterator[Problem]:
    """Every error of a composed config as (place, message)."""
    try:
        config = Config.model_validate_json(as_json(data))
        yield from _runs(config)
        yield from compatibility.problems(config)
        yield from seed_checks.problems(config)
        yield from device_checks.problems(config)
    except ValidationError as error:
        yield from _structure(error)
    streams = _mapping(data.get("streams"))
    for name, stream in streams.items():
        yield from _stream(("streams", name), _mapping(stream))
    for name, study in _mapping(data.get("studies")).items():
        yield from _study(("studies", name), _mapping(study), streams)


def as_json(data: Any) -> str:
    """Data for a strict model: through JSON, where a list stands for a tuple."""
    return json.dumps(data)


def by_kind(pipeline: list[Any]) -> Iterator[tuple[str, Any]]:
    """The items of a pipeline with their kind: combinators, and a learner last."""
    for position, item in enumerate(pipeline):
        yield ("learners" if position == len(pipeline) - 1 else "combinators"), item


def _runs(config: Config) -> Iterator[Problem]:
    """Studies and tunings with more runs than can be planned."""
    for name, study in config.studies.items():
        variants = {"seeds": (len(study.methods), study.seeds)}
        if tuning := study.tuning:
            variants["tuning"] = len(study.methods) * tuning.trials, tuning.seeds
        for key, (number, seeds) in variants.items():
            of_job = 1 if study.configurations else study.seeds_per_job or config.seeds_per_job
            jobs = -(-seeds // of_job)
            runs = len(study.streams) * number * jobs
            if runs > MAX_RUNS:
                words = f"{runs:,} runs, but at most {MAX_RUNS:,} can be planned; raise"
                yield ("studies", name, key), f"{words} seeds_per_job, or ask for fewer"


def _structure(error: ValidationError) -> Iterator[Problem]:
    for item in error.errors(include_url=False):
        # "[key]" is pydantic's sign for the key itself.
        place = tuple(part for part in item["loc"] if part != "[key]")
        if item["type"] == "extra_forbidden":
            known = keys(_owner(place))
            now = RENAMED.get(str(place[-1]), "")
            words = f'the key "{place[-1]}" is called "{now}" now' if now in known else ""
            yield place, words or unknown("key", place[-1], known)
        else:
            yield place, message(item)


def _owner(place: Place) -> type[BaseModel]:
    """The model that has no key like the last of a place."""
    inner: dict[Any, type[BaseModel]] = {"tuning": Tuning, "methods": StudyMethod}
    return next((inner[part] for part in place[2:-1] if part in inner), Study)


def message(item: Any) -> str:
    """An error of pydantic in words."""
    if item["type"] == "missing":
        return "this key is missing"
    if item["type"] == "string_pattern_mismatch":
        return f'the name "{item["input"]}" may have small letters, digits and hyphens only'
    if item["type"] == "string_too_long":
        limit = item["ctx"]["max_length"]
        return f"this name has {len(item['input'])} characters; file names take at most {limit}"
    text = item["msg"].removeprefix("Value error, ").removeprefix("Input ")
    if item["type"] == "value_error" or not isinstance(item["input"], str | int | float | None):
        return text
    return f"{text} (it is {json.dumps(item['input'])})"


def _stream(place: Place, stream: dict) -> Iterator[Problem]:
    family = stream.get("family")
    if not isinstance(family, str):
        return
    if family not in components.names("streams"):
        yield (*place, "family"), unknown("family", family, components.names("streams"))
        return
    settings = {key: value for key, value in stream.items() if key != "family"}
    wrong = list(_settings(place, "streams", family, settings))
    yield from wrong
    yield from _absent((*place, "family"), "streams", family)
    dataset = settings.get("dataset")
    if not wrong and dataset is not None and dataset not in raw.table():
        yield (*place, "dataset"), unknown("data set", dataset, raw.table())


def _study(place: Place, study: dict, streams: dict) -> Iterator[Problem]:
    if place[-1] in RESERVED:
        yield place, f'the name "{place[-1]}" stands for {RESERVED[str(place[-1])]}; choose another'
    for key, what, known in [
        ("streams", "stream", streams),
        ("metrics", "metric", components.names("metrics")),
        ("artefacts", "artefact", components.names("artefacts")),
    ]:
        yield from _names((*place, key), what, study.get(key), known)
    yield from _compared(place, study)
    for kind in ("metrics", "artefacts"):
        for position, name in enumerate(_list(study.get(kind))):
            if name in components.names(kind):
                yield from _absent((*place, kind, position), kind, name)
    yield from _uses(place, study)
    yield from _of_claims(place, study)
    if study.get("model") is not None:
        yield from _component((*place, "model"), "models", study["model"])
    for name, pipeline in _pipelines(study).items():
        for position, (kind, item) in enumerate(by_kind(pipeline)):
            where = (*place, "methods", name, "pipeline", position)
            yield from _component(where, kind, item)
            yield from _needs(where, kind, item, study)
    if study.get("tuning") is not None:
        yield from _tuning((*place, "tuning"), _mapping(study["tuning"]), study, streams)
    for number, space in enumerate(_list(study.get("configurations"))):
        yield from _configurations((*place, "configurations", number), _mapping(space), study)


def _compared(place: Place, study: dict) -> Iterator[Problem]:
    """Methods that others are compared with, and that are no methods of the study."""
    known = _pipelines(study)
    for key in ("baseline", "reference"):
        name = study.get(key)
        if not isinstance(name, str) or name in known:
            continue
        if nearest(name, known):
            yield (*place, key), unknown("method of the study", name, known)
        else:
            text = f'the `{key}` of the study, "{name}", is not among them; add it, or write'
            yield (*place, "methods"), f"{text} `{key}: null` in the study"


def _uses(place: Place, study: dict) -> Iterator[Problem]:
    """Metrics that are taken from the scores of others."""
    metrics = _list(study.get("metrics"))
    for position, metric in enumerate(metrics):
        known = metric in components.names("metrics")
        for used in components.facts("metrics", metric).uses if known else ():
            if used not in metrics:
                where = (*place, "metrics", position)
                yield where, f'"{metric}" is taken from "{used}"; add it to the metrics'


def _of_claims(place: Place, study: dict) -> Iterator[Problem]:
    """Artefacts that are made without being asked for."""
    for position, name in enumerate(_list(study.get("artefacts"))):
        known = name in components.names("artefacts")
        if known and "claims" in components.facts("artefacts", name).study:
            text = f'"{name}" is made for every study that judges a claim; take it out'
            yield (*place, "artefacts", position), text


def _tuning(place: Place, tuning: dict, study: dict, streams: dict) -> Iterator[Problem]:
    metrics = _list(study.get("metrics"))
    if isinstance(tuning.get("metric"), str) and tuning["metric"] not in metrics:
        yield (*place, "metric"), unknown("metric of the study", tuning["metric"], metrics)
    for name in _texts(study.get("streams")):
        changed = _mapping(streams.get(name)) | _mapping(tuning.get("streams"))
        yield from _stream((*place, "streams"), changed)
        if changed.get("judge_on") != "validation":
            yield (
                (*place, "streams"),
                "trials must not see test data; write judge_on: validation, and tune on streams"
                " whose family has that setting",
            )
    pipelines = _pipelines(study)
    own = _mapping(tuning.get("methods"))
    for name in own:
        if name not in pipelines:
            yield (*place, "methods", name), unknown("method of the study", name, pipelines)
    for name, variant in _mapping(study.get("methods")).items():
        search = _mapping(_mapping(variant).get("search"))
        where = (*place[:-1], "methods", name, *(["search"] if search else []))
        if name in own:
            where, search = (*place, "methods", name), _mapping(own[name])
        yield from _trials(where, search, pipelines[name], tuning)


def _configurations(place: Place, space: dict, study: dict) -> Iterator[Problem]:
    """Whether each value of a space of settings goes with each method that has the component."""
    if study.get("tuning") is not None:
        yield place, "a study is tuned or has configurations, not both; take one of them out"
    pipelines = _pipelines(study)
    having = {
        name: {str(_item(item)[0]) for item in pipeline} for name, pipeline in pipelines.items()
    }
    known = set().union(*having.values())
    for key, values in space.items():
        component = str(key).partition(".")[0]
        if component not in known:
            text = unknown("component of a method", component, sorted(known))
            yield (*place, key), f"{text}; write component.key"
        for name, pipeline in pipelines.items():
            if component in having[name]:
                yield from _space(place, {key: values}, pipeline)


def _trials(place: Place, space: dict, pipeline: list, tuning: dict) -> Iterator[Problem]:
    """Whether a method has trials enough, each with good settings."""
    if not space:
        words = "every method of a tuned study is tuned, and this one has nothing to try; give it"
        yield place, f"{words} a `search`, or name it in the tuning's `methods`"
        return
    yield from _space(place, space, pipeline)
    points = math.prod(len(_list(values)) for values in space.values())
    if isinstance(tuning.get("trials"), int) and points < tuning["trials"]:
        yield place, f"{points} trials, but every method gets {tuning['trials']}; add values"
    if points > MAX_POINTS:
        yield place, f"a grid of more than {MAX_POINTS:,} points; take values away"


def _space(place: Place, space: dict, pipeline: list) -> Iterator[Problem]:
    """Whether each value of a setting, as component.key, goes with the method's others."""
    kinds = {_item(item)[0]: (kind, _item(item)[1]) for kind, item in by_kind(pipeline)}
    if not kinds:
        return
    for key, values in space.items():
        component, _, setting = str(key).partition(".")
        if component not in kinds:
            known = [str(name) for name in kinds]
            yield (*place, key), unknown("component", component, known) + "; write component.key"
            continue
        kind, settings = kinds[component]
        if component in components.names(kind):
            for value in _list(values):
                yield from _settings((*place, key), kind, component, settings | {setting: value})


def _names(place: Place, what: str, values: Any, known: Iterable[str]) -> Iterator[Problem]:
    values = values if isinstance(values, list) else []
    for position, value in enumerate(values):
        if isinstance(value, str) and value not in known:
            yield (*place, position), unknown(what, value, known)
        if value in values[:position]:
            yield (*place, position), f'"{value}" stands here twice'


def _component(place: Place, kind: str, item: Any) -> Iterator[Problem]:
    name, settings = _item(item)
    if name is None:
        return
    if name not in components.names(kind):
        yield (*place, name), _not_here(kind, name)
    else:
        where = (*place, name) if isinstance(item, dict) else place
        yield from _settings(where, kind, name, settings)
        yield from _absent(where, kind, name)


def _absent(place: Place, kind: str, name: str) -> Iterator[Problem]:
    """Packages that a user's component imports and that are not here."""
    for package in user_components.absent(kind, name):
        file = components.path(kind, name)
        yield place, f"{file} imports {package}, which is not installed here; install it"


def _not_here(kind: str, name: str) -> str:
    if kind == "learners" and name in components.names("combinators"):
        return f'"{name}" is a combinator; the last item must be a learner'
    if kind == "combinators" and name in components.names("learners"):
        return f'"{name}" is a learner; only the last item may be one'
    return unknown(kind.removesuffix("s"), name, components.names(kind))


def _settings(place: Place, kind: str, name: str, settings: dict) -> Iterator[Problem]:
    try:
        components.check(kind, name, settings)
    except ValidationError as error:
        known = components.fields(kind, name)
        for item in error.errors(include_url=False):
            # Only as deep as the setting: below it pydantic names branches of unions.
            where = (*place, *item["loc"][:1])
            if item["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
                yield where, unknown(f"setting of {name}", item["loc"][0], known)
            else:
                yield where, f"{message(item)}; the type is {known[str(item['loc'][0])][0]}"


def _needs(place: Place, kind: str, item: Any, study: dict) -> Iterator[Problem]:
    name, _ = _item(item)
    if name not in components.names(kind):
        return
    revealed = study.get("reveals")
    for need in components.facts(kind, name).reveals:
        if need not in (revealed if isinstance(revealed, list) else []):
            yield (
                (*place, name),
                f'"{name}" needs to be told "{need}"; add it to the study\'s `reveals`',
            )
    wanted = kind == "learners" and components.facts(kind, name).model
    if wanted and study.get("model") is None:
        yield (*place, name), f'"{name}" fits a model; give the study a `model`'
    elif wanted and (text := _unserved(name, wanted, _item(study["model"])[0])):
        yield (*place, name), text


def _unserved(learner: str, wanted: bool | str, model: str | None) -> str:
    """Why a learner cannot have the model in the form that it wants; empty if it can."""
    if model is None or model not in components.names("models"):
        return ""
    ours = components.package_of("models", model) == components.OURS
    function = "describe" if wanted == "shapes" else "build"
    if ours or components.defines("models", model, function):
        return ""
    place = components.path("models", model)
    what = "the shapes of a model" if wanted == "shapes" else "a model to compute with"
    return f'"{learner}" takes {what}; give {place} a function `{function}(settings, problem)`'


def _item(item: Any) -> tuple[str | None, dict]:
    """Name and settings of an item of a pipeline; (None, {}) if it has not their form."""
    try:
        return one_component(item)
    except ValueError:
        return None, {}


def _pipelines(study: dict) -> dict[str, list]:
    """The pipelines of a study's methods, empty where one has not their form."""
    methods = _mapping(study.get("methods")).items()
    return {name: _list(_mapping(variant).get("pipeline")) for name, variant in methods}


def _mapping(value: Any) -> dict:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list:
    return value if isinstance(value, list) else []


def _texts(value: Any) -> list[str]:
    return [item for item in _list(value) if isinstance(item, str)]

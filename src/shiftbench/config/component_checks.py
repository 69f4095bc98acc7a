"""Checks of the components that a config names: their names, settings and imports.

Valid settings get their defaults here, so that each is validated once.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from itertools import groupby
from typing import Any

from pydantic import ValidationError

from shiftbench.config import components, form_errors, type_words, user_components
from shiftbench.config.pipeline_parts import by_kind
from shiftbench.config.schema import one_component
from shiftbench.config.yaml_lines import Issue, KeyPath
from shiftbench.core.suggestions import unknown
from shiftbench.data.store import raw

Check = Generator[Issue, None, dict[str, Any] | None]
"""A check that yields issues with settings and returns them with defaults, or None if wrong."""


def fill(data: dict[str, Any]) -> Iterator[Issue]:
    """Check all components of a config, and fill in the defaults of the valid ones in place."""
    streams = mapping(data.get("streams"))
    for name, stream in streams.items():
        streams[name] = (yield from check_stream(("streams", name), mapping(stream))) or stream
    for name, study in mapping(data.get("studies")).items():
        place, study = ("studies", name), mapping(study)
        if study.get("model") is not None:
            model = study["model"]
            study["model"] = (yield from check_item((*place, "model"), "models", model)) or model
        for method, pipeline in pipelines(study).items():
            for position, (kind, item) in enumerate(by_kind(pipeline)):
                where = (*place, "methods", method, "pipeline", position)
                pipeline[position] = (yield from check_item(where, kind, item)) or item


def check_stream(place: KeyPath, stream: dict[str, Any]) -> Check:
    """Check the family and the settings of a stream."""
    family = stream.get("family")
    if not isinstance(family, str):
        return None  # the schema says so
    if family not in components.names("streams"):
        yield (*place, "family"), unknown("family", family, components.names("streams"))
        return None
    settings = {key: value for key, value in stream.items() if key != "family"}
    filled = yield from check_settings(place, "streams", family, settings)
    yield from missing_packages((*place, "family"), "streams", family)
    dataset = settings.get("dataset")
    if filled is not None and dataset is not None and dataset not in raw.table():
        yield (*place, "dataset"), unknown("data set", dataset, raw.table())
    elif filled is not None and (reason := raw.absent(dataset)):
        yield (*place, "dataset"), f"{dataset}: {reason}"
    elif filled is not None and dataset is not None:
        yield from _too_many_apart((*place, "validation"), dataset, filled)
    return None if filled is None else {"family": family} | filled


def _too_many_apart(place: KeyPath, dataset: str, settings: dict[str, Any]) -> Iterator[Issue]:
    """Find numbers of validation rows that the data set does not have, in settings of a stream."""
    sizes = [size for size in raw.table()[dataset].sizes[:1] if isinstance(size, int)]
    # For the digits, the setting is the number of test rows, which may exceed the training rows.
    most = max([*sizes, settings.get("test_size", 0)]) if sizes else math.inf
    if settings.get("validation", 0) >= most:
        yield place, f"{dataset} has {most:,} rows to set these apart from; lower it"


def check_settings(place: KeyPath, kind: str, name: str, settings: dict[str, Any]) -> Check:
    """Check the settings of a component that exists."""
    try:
        return components.check(kind, name, settings)
    except ValidationError as error:
        found = error.errors(include_url=False)
        for setting, group in groupby(found, lambda item: item["loc"][0]):
            # Only as deep as the setting: below it pydantic names branches of unions.
            yield (*place, setting), misfit(kind, name, settings, [*group])
    return None


def misfit(kind: str, name: str, settings: dict[str, Any], errors: Sequence[Any]) -> str:
    """Return the errors that pydantic finds in one setting of a component in a sentence."""
    setting = str(errors[0]["loc"][0])
    if errors[0]["type"] in form_errors.UNKNOWN_KEY:
        return unknown(f"setting of {name}", setting, components.fields(kind, name))
    fits = type_words.of_setting(kind, name, setting)
    return form_errors.of_setting(errors, fits, settings.get(setting))


def missing_packages(place: KeyPath, kind: str, name: str) -> Iterator[Issue]:
    """Find packages that a user's component imports and that are not installed."""
    for package in user_components.absent(kind, name):
        file = components.path(kind, name)
        yield place, f"{file} imports {package}, which is not installed here; install it"


def name_and_settings(item: Any) -> tuple[str | None, dict[str, Any]]:
    """Return name and settings of an item of a pipeline; (None, {}) for another form."""
    try:
        return one_component(item)
    except ValueError:
        return None, {}


def pipelines(study: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the pipelines of a study's methods; empty where one has another form."""
    methods = mapping(study.get("methods")).items()
    return {name: as_list(mapping(method).get("pipeline")) for name, method in methods}


def mapping(value: Any) -> dict[Any, Any]:
    """Return a mapping as it is; an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return a list as it is; an empty one for any other value."""
    return value if isinstance(value, list) else []


def check_item(place: KeyPath, kind: str, item: Any) -> Check:
    """Check an item of a pipeline, or the model; return it as {name: settings}."""
    name, settings = name_and_settings(item)
    if name is None:
        return None  # the schema says so
    if name not in components.names(kind):
        yield (*place, name), _wrong_kind(kind, name)
        return None
    where = (*place, name) if isinstance(item, dict) else place
    filled = yield from check_settings(where, kind, name, settings)
    yield from missing_packages(where, kind, name)
    return None if filled is None else {name: filled}


def _wrong_kind(kind: str, name: str) -> str:
    """Say why there is no component of this kind and name."""
    if kind == "learners" and name in components.names("combinators"):
        return f'"{name}" is a combinator; the last item must be a learner'
    if kind == "combinators" and name in components.names("learners"):
        return f'"{name}" is a learner; only the last item may be one'
    return unknown(kind.removesuffix("s"), name, components.names(kind))

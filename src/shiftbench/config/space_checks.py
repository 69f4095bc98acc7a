"""Checks of the settings that a study tries: search spaces of its trials, and configurations."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import Any

from shiftbench.config import component_checks, components
from shiftbench.config.component_checks import (
    as_list,
    check_settings,
    mapping,
    name_and_settings,
    pipelines,
)
from shiftbench.config.pipeline_parts import by_kind
from shiftbench.config.yaml_lines import Issue, KeyPath
from shiftbench.core.suggestions import unknown

MAX_POINTS = 10**9
"""The most points of a grid from which trials are drawn."""


def of_tuning(place: KeyPath, tuning: dict, study: dict, streams: dict) -> Iterator[Issue]:
    """Find issues with the metric, the streams and the search spaces of a study's trials."""
    metrics = as_list(study.get("metrics"))
    if isinstance(tuning.get("metric"), str) and tuning["metric"] not in metrics:
        yield (*place, "metric"), unknown("metric of the study", tuning["metric"], metrics)
    for name in (name for name in as_list(study.get("streams")) if isinstance(name, str)):
        changed = mapping(streams.get(name)) | mapping(tuning.get("streams"))
        yield from component_checks.check_stream((*place, "streams"), changed)
        if changed.get("judge_on") != "validation":
            yield (*place, "streams"), _sees_test_data(changed.get("family"))
    of_study = pipelines(study)
    own = mapping(tuning.get("methods"))
    for name in own:
        if name not in of_study:
            yield (*place, "methods", name), unknown("method of the study", name, of_study)
    for name, method in mapping(study.get("methods")).items():
        search = mapping(mapping(method).get("search"))
        where = (*place[:-1], "methods", name, *(["search"] if search else []))
        if name in own:
            where, search = (*place, "methods", name), mapping(own[name])
        yield from _of_trials(where, search, of_study[name], tuning)


def of_space(place: KeyPath, space: dict, pipeline: list) -> Iterator[Issue]:
    """Find unknown settings in a space, and values that exclude other settings of the method."""
    items = {
        name: (kind, settings)
        for kind, item in by_kind(pipeline)
        for name, settings in [name_and_settings(item)]
    }
    for key, values in space.items() if items else ():
        if message := no_setting(str(key), [name for name in items if name]):
            yield (*place, key), message
            continue
        component, _, setting = str(key).partition(".")
        kind, settings = items[component]
        if component in components.names(kind):
            for value in as_list(values):
                changed = settings | {setting: value}
                for _, message in check_settings((), kind, component, changed):
                    yield (*place, key), message


def _sees_test_data(family: Any) -> str:
    """Return the message that trials on streams of a family must not see its test data."""
    able = [
        one
        for one in components.names("streams")
        if "judge_on" in components.fields("streams", one)
    ]
    if family in able:
        return "trials must not see test data; write judge_on: validation"
    return (
        f"trials must not see test data, and {family} has no validation data; tune on streams of"
        f" {', '.join(able[:-1])} or {able[-1]}"
    )


def _of_trials(place: KeyPath, space: dict, pipeline: list, tuning: dict) -> Iterator[Issue]:
    """Find methods with too few trials, and trials with wrong settings."""
    if not space:
        message = "this method has no settings to try, but a tuned study tunes all its methods"
        yield place, f"{message}; give it a `search`, or list its values in `tuning.methods`"
        return
    yield from of_space(place, space, pipeline)
    points = math.prod(len(as_list(values)) for values in space.values())
    if isinstance(tuning.get("trials"), int) and points < tuning["trials"]:
        message = (
            f"{points} combinations of values, but every method gets {tuning['trials']} trials"
        )
        yield place, f"{message}; add values, or lower `trials`"
    if points > MAX_POINTS:
        yield place, f"more than {MAX_POINTS:,} combinations of values; remove some values"


def of_configurations(place: KeyPath, space: dict, study: dict) -> Iterator[Issue]:
    """Find values in a space of settings that do not fit a method which has the component."""
    if study.get("tuning") is not None:
        yield place, "a study is tuned or has configurations, not both; take one of them out"
    of_study = pipelines(study)
    components_of = {
        name: {str(name_and_settings(item)[0]) for item in pipeline}
        for name, pipeline in of_study.items()
    }
    known = set().union(*components_of.values())
    for key, values in space.items():
        if message := no_setting(str(key), sorted(known), "component of a method"):
            yield (*place, key), message
            continue
        component = str(key).partition(".")[0]
        for name, pipeline in of_study.items():
            if component in components_of[name]:
                yield from of_space(place, {key: values}, pipeline)


def no_setting(
    key: str, known: Collection[str], what: str = "component", method: str | int = ""
) -> str:
    """Return why a key is not a component.key of known components; empty if it is one.

    what: the kind of thing that the names denote, for the message. method: the one that has them.
    """
    component, _, setting = key.partition(".")
    if component not in known:
        of_method = f", of the method {method}" if method else ""
        return f"{unknown(what, component, known)}; write component.key{of_method}"
    if setting:
        return ""
    kinds = (kind for kind in ("combinators", "learners") if component in components.names(kind))
    names = [name for kind in kinds for name in components.fields(kind, component)]
    example = f", such as {component}.{names[0]}" if names else ""
    return f'"{component}" is a component; write {component}.KEY{example}'

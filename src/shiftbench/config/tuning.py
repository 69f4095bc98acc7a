"""Tuning: trials of settings on validation data, as an ordinary study of its own.

A study with `tuning` gets a companion STUDY-tuning, whose learners METHOD-0, METHOD-1, ... are
the trials, as many for every method of the study, on streams STREAM-tuning that never show what
the study is judged on. The first trial is the method as it is configured, so that tuning cannot
make it worse on validation data. Which trial is best becomes known while the workflow runs: a
choice file says it, and is an input of the study's runs, so that they run again only when another
trial has won.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from typing import Any

from shiftbench.config.schema import Component, Config, Stream, Study, StudyMethod, Tuning

TRIALS = "-tuning"
"""Ending of the names of studies and streams of trials."""
Point = dict[str, Any]
"""A trial: setting, as component.key, -> value; empty for the method as it is configured."""
Space = Mapping[str, list[Any]]
"""Settings, as component.key, with the values to try."""


def expanded(config: Config) -> Config:
    """The config with the studies of trials as if they were written."""
    streams, studies = dict(config.streams), {}
    for name, study in config.studies.items():
        if study.tuning is not None:
            for stream in study.streams:
                streams[stream + TRIALS] = on_trial(config.streams[stream], study.tuning)
            studies[name + TRIALS] = _trials(name, study, study.tuning)
        studies[name] = study
    return config.model_copy(update={"streams": streams, "studies": studies})


def on_trial(stream: Stream, tuning: Tuning) -> Stream:
    """The stream as trials see it."""
    return Stream(**{"family": stream.family} | stream.settings | tuning.streams)


def space(study: Study, method: str) -> Space:
    """What is tried for a method: what the study says of it, or else the method itself."""
    assert study.tuning is not None
    return study.tuning.methods.get(method) or study.methods[method].search


def points(name: str, study: Study, method: str) -> list[Point]:
    """The trials of a method: as configured, then its grid or a random part of it."""
    assert study.tuning is not None
    tried, pipeline = space(study, method), study.methods[method].pipeline
    size, number = math.prod(map(len, tried.values())), study.tuning.trials
    # Not NumPy's generator: every job parses the plan, and NumPy is slow to import.
    chooser = random.Random(f"tuning {name} {method}")
    drawn = [_point(tried, i) for i in chooser.sample(range(size), min(size, number))]
    others = [point for point in drawn if not is_configured(pipeline, point)][: number - 1]
    return [{}, *sorted(others, key=lambda point: _place(tried, point))]


def is_configured(pipeline: list[Component], point: Mapping[str, Any]) -> bool:
    """Whether a point is what the pipeline, which has all its settings, has already."""
    return applied(pipeline, point) == pipeline


def applied(pipeline: list[Component], point: Mapping[str, Any]) -> list[Component]:
    """The pipeline with the settings of a trial."""
    changed = [(name, dict(settings)) for name, settings in pipeline]
    for key, value in point.items():
        component, _, setting = key.partition(".")
        dict(changed)[component][setting] = value
    return changed


def trial_names(name: str, study: Study, method: str) -> Iterator[tuple[str, Point]]:
    """The variants of the study of trials that belong to a method, with their settings."""
    for number, point in enumerate(points(name, study, method)):
        yield f"{method}-{number}", point


def told(study: Study) -> str:
    """How a study's settings were found, in a sentence of captions; empty for a single method."""
    if study.tuning is None:
        several = len(study.methods) > 1
        return "Settings as published or configured, not tuned alike" if several else ""
    trials, seeds = study.tuning.trials, study.tuning.seeds
    return (
        f"Every method is tuned alike: the best of {trials} trials by {study.tuning.metric} on"
        f" validation data of other realisations, {seeds} seed{'s' * (seeds > 1)} each"
    )


def _point(tried: Space, number: int) -> Point:
    """A point of the grid, in which the last setting changes fastest."""
    point = {}
    for key, values in reversed(list(tried.items())):
        number, place = divmod(number, len(values))
        point[key] = values[place]
    return {key: point[key] for key in tried}


def _place(tried: Space, point: Point) -> list[int]:
    return [values.index(point[key]) for key, values in tried.items()]


def _trials(name: str, study: Study, tuning: Tuning) -> Study:
    methods = {
        variant: _with_point(study.methods[method], point)
        for method in study.methods
        for variant, point in trial_names(name, study, method)
    }
    return study.model_copy(
        update={
            "title": f"Trials of settings for {name}",
            "streams": [stream + TRIALS for stream in study.streams],
            "methods": methods,
            "seeds": tuning.seeds,
            "artefacts": ["score-table"],
            "cuts": f"{study.cuts}; trials on validation data".lstrip("; "),
            "tuning": None,
            "baseline": None,
            "reference": None,
        }
    )


def _with_point(variant: StudyMethod, point: Point) -> StudyMethod:
    pipeline = applied(variant.pipeline, point)
    return variant.model_copy(update={"pipeline": pipeline, "label": "", "method": None})

"""Tuning: trials of settings on validation data, as an ordinary study.

A study with `tuning` gets a companion STUDY-tuning, whose methods METHOD-0, METHOD-1, ... are the
trials, the same number for every method of the study, on streams STREAM-tuning, which are judged on
validation data and hide the test data of their own realisations. Where realisations are different
splits of the same rows, a trial may train on test rows of another split; `trial_checks` reports it.
The first trial has the configured settings, so that tuning cannot make a method worse on validation
data. The best trial is determined while the workflow runs: a choice file names it, and is an input
of the study's runs, so that they run again only when another trial wins.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from typing import Any

from shiftbench.config import components, metric_words
from shiftbench.config.compatible_pipelines import part_of
from shiftbench.config.schema import Component, Config, Space, Stream, Study, StudyMethod, Tuning

TRIALS = "-tuning"
"""Suffix of the names of studies and streams of trials."""
OTHERS = "of other realisations"
Point = dict[str, Any]
"""A trial: values of settings by component.key; empty for the method as it is configured."""


def expanded(config: Config) -> Config:
    """Return the config with the studies and streams of trials added."""
    streams, studies = dict(config.streams), {}
    for name, study in config.studies.items():
        if study.tuning is not None:
            for stream in study.streams:
                streams[stream + TRIALS] = on_trial(config.streams[stream], study.tuning)
            studies[name + TRIALS] = _trials(name, study, study.tuning)
        studies[name] = study
    return config.model_copy(update={"streams": streams, "studies": studies})


def on_trial(stream: Stream, tuning: Tuning) -> Stream:
    """Return a stream for trials; another family takes the settings that it knows."""
    settings, family = stream.settings, tuning.streams.get("family", stream.family)
    if family != stream.family and family in components.names("streams"):
        fields = components.fields("streams", family)
        settings = {key: value for key, value in settings.items() if key in fields}
    return Stream(**{"family": stream.family} | settings | tuning.streams)


def space(study: Study, method: str) -> Space:
    """Return the values to try for a method: those of the study, or else of the method."""
    assert study.tuning is not None
    return study.tuning.methods.get(method) or study.methods[method].search


def points(name: str, study: Study, method: str) -> list[Point]:
    """Return the trials of a method: as configured, then its grid or a random sample of it."""
    assert study.tuning is not None
    grid, pipeline = space(study, method), study.methods[method].pipeline
    size, number = math.prod(map(len, grid.values())), study.tuning.trials
    # Not NumPy's generator: planning should not need NumPy, which is slow to import.
    chooser = random.Random(f"tuning {name} {method}")
    drawn = [_grid_point(grid, i) for i in chooser.sample(range(size), min(size, number))]
    others = [point for point in drawn if not is_configured(pipeline, point)][: number - 1]
    return [{}, *sorted(others, key=lambda point: _grid_position(grid, point))]


def is_configured(pipeline: list[Component], point: Mapping[str, Any]) -> bool:
    """Return whether a pipeline, which has all its settings, already has those of a point."""
    return applied(pipeline, point) == pipeline


def applied(pipeline: list[Component], point: Mapping[str, Any]) -> list[Component]:
    """Return a pipeline with the settings of a trial."""
    changed = [(name, dict(settings)) for name, settings in pipeline]
    for key, value in point.items():
        component, _, setting = key.partition(".")
        dict(changed)[component][setting] = value
    return changed


def trial_names(name: str, study: Study, method: str) -> Iterator[tuple[str, Point]]:
    """Yield the names of a method's trials in the study of trials, with their settings."""
    for number, point in enumerate(points(name, study, method)):
        yield f"{method}-{number}", point


def sentence(study: Study, streams: Mapping[str, Stream]) -> str:
    """Return a sentence for captions on how settings were chosen; empty for one untuned method.

    streams: those of the config, by name.
    """
    if study.tuning is None:
        several = len(study.methods) > 1
        return "Settings as published or configured, not tuned alike" if several else ""
    trials, seeds = study.tuning.trials, study.tuning.seeds
    return (
        f"Every method is tuned alike: the best of {trials} trials by"
        f" {metric_words.words(study.tuning.metric)} on"
        f" validation data {_of_which(study, streams)}, {seeds} seed{'s' * (seeds > 1)} each"
    )


def _of_which(study: Study, streams: Mapping[str, Stream]) -> str:
    """Say which data the trials of a study are judged on; with streams by name if they differ."""
    assert study.tuning is not None
    by_words: dict[str, list[str]] = {}
    for name in study.streams:
        tried = on_trial(streams[name], study.tuning)
        by_words.setdefault(_compared(streams[name], tried), []).append(name)
    if len(by_words) == 1:
        return next(iter(by_words))
    return " and ".join(f"{words} ({', '.join(names)})" for words, names in by_words.items())


def _compared(judged: Stream, tried: Stream) -> str:
    """Say how the realisations of a stream's trials differ from those that are judged."""
    parts = [part_of("streams", (one.family, one.settings), "") for one in (judged, tried)]
    known = [one for one in parts if one is not None]
    if judged.family != tried.family or len(known) < 2:
        return OTHERS
    if not known[1].words("varies"):  # all its realisations have the same rows
        return "set apart from the training data"
    (first, number), (begin, size) = (_numbers(one.settings or {}) for one in known)
    apart = begin >= first + number or first >= begin + size
    return OTHERS if apart else "of the same realisations"


def _numbers(settings: Mapping[str, Any]) -> tuple[int, int]:
    """Return the first realisation of a stream, and how many it has."""
    return settings.get("first_realisation", 0), settings.get("realisations", 1)


def _grid_point(grid: Space, number: int) -> Point:
    """Return a point of a grid by its number; the last setting varies fastest."""
    point = {}
    for key, values in reversed(list(grid.items())):
        number, position = divmod(number, len(values))
        point[key] = values[position]
    return {key: point[key] for key in grid}


def _grid_position(grid: Space, point: Point) -> list[int]:
    return [values.index(point[key]) for key, values in grid.items()]


def _trials(name: str, study: Study, tuning: Tuning) -> Study:
    """Return the study of a study's trials."""
    methods = {
        trial: _with_point(of_study, point)
        for method, of_study in study.methods.items()
        for trial, point in trial_names(name, study, method)
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


def _with_point(method: StudyMethod, point: Point) -> StudyMethod:
    pipeline = applied(method.pipeline, point)
    return method.model_copy(update={"pipeline": pipeline, "label": "", "method": None})

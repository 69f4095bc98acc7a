"""Tuning: trials of settings on validation data, as an ordinary study of its own.

A study with `tuning` gets a companion STUDY-tuning, whose learners LEARNER-0, LEARNER-1, ...
are the trials, on streams STREAM-tuning that never show what the study is judged on; and for
each tuned learner a variant LEARNER-tuned, whose settings are those of the best trial. Which
that is becomes known while the workflow runs: a choice file says it, and is an input of the
tuned runs, so that they run again only when another trial has won.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from typing import Any

from shiftbench.planning.endings import TRIALS, TUNED
from shiftbench.planning.schema import Component, Config, Stream, Study, Tuning, Variant

Point = dict[str, Any]
"""A trial: setting, as component.key, -> value."""


def expanded(config: Config) -> Config:
    """The config with the studies of trials and the tuned variants as if they were written."""
    streams, studies = dict(config.streams), {}
    for name, study in config.studies.items():
        if study.tuning is not None:
            for stream in study.streams:
                streams[stream + TRIALS] = on_trial(config.streams[stream], study.tuning)
            studies[name + TRIALS] = _trials(name, study, study.tuning)
            tuned = {f"{k}{TUNED}": _tuned(study.methods[k]) for k in study.tuning.methods}
            study = study.model_copy(update={"methods": study.methods | tuned})
        studies[name] = study
    return config.model_copy(update={"streams": streams, "studies": studies})


def on_trial(stream: Stream, tuning: Tuning) -> Stream:
    """The stream as trials see it."""
    return Stream(**{"family": stream.family} | stream.settings | tuning.streams)


def points(study: str, tuning: Tuning, learner: str) -> list[Point]:
    """The trials of a learner: its grid or, where that has more, a random part of it."""
    space = tuning.methods[learner]
    size = math.prod(map(len, space.values()))
    # Not NumPy's generator: every job parses the plan, and NumPy is slow to import.
    chooser = random.Random(f"tuning {study} {learner}")
    return [_point(space, i) for i in sorted(chooser.sample(range(size), tuning.trials))]


def base(study: Study, variant: str) -> str | None:
    """The learner that a variant is tuned from; None for a variant that is not tuned."""
    learner = variant.removesuffix(TUNED)
    tuned = study.tuning is not None and learner in study.tuning.methods
    return learner if tuned and learner != variant else None


def applied(pipeline: list[Component], point: Mapping[str, Any]) -> list[Component]:
    """The pipeline with the settings of a trial."""
    changed = [(name, dict(settings)) for name, settings in pipeline]
    for key, value in point.items():
        component, _, setting = key.partition(".")
        dict(changed)[component][setting] = value
    return changed


def trial_names(study: str, tuning: Tuning, learner: str) -> Iterator[tuple[str, Point]]:
    """The variants of the study of trials that belong to a learner, with their settings."""
    for number, point in enumerate(points(study, tuning, learner)):
        yield f"{learner}-{number}", point


def _point(space: Mapping[str, list[Any]], number: int) -> Point:
    """A point of the grid, in which the last setting changes fastest."""
    point = {}
    for key, values in reversed(list(space.items())):
        number, place = divmod(number, len(values))
        point[key] = values[place]
    return {key: point[key] for key in space}


def _trials(name: str, study: Study, tuning: Tuning) -> Study:
    methods = {
        variant: _with_point(study.methods[learner], point)
        for learner in tuning.methods
        for variant, point in trial_names(name, tuning, learner)
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


def _tuned(variant: Variant) -> Variant:
    label = f"{variant.label}, tuned" if variant.label else ""
    return variant.model_copy(update={"label": label, "method": None})


def _with_point(variant: Variant, point: Point) -> Variant:
    pipeline = applied(variant.pipeline, point)
    return variant.model_copy(update={"pipeline": pipeline, "label": "", "method": None})

"""Warm-ups that several runs share: data from before a stream, learnt in the same way.

One component of a pipeline does the warm-up: the learner, or a combinator whose inner component
then waits. A combinator declares this in the fact `warms`: `inside` if it passes the warm-up on
to its inner component, else the settings that its own warm-up depends on. For a learner all
settings count, and the model. A combinator without `warms` treats the warm-up as a task, and then
every run does its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from shiftbench.config import components
from shiftbench.config.pipeline_parts import by_kind

INSIDE = "inside"


class Worker(NamedTuple):
    """The component of a pipeline that does the work of the warm-up.

    place: in the pipeline. settings: those on which its warm-up depends.
    """

    place: int
    kind: str
    name: str
    settings: dict[str, Any]


def worker(pipeline: Sequence[Sequence[Any]]) -> Worker | None:
    """Return the component that does a pipeline's warm-up; None if every run does its own."""
    for place, (kind, (name, settings)) in enumerate(by_kind(pipeline)):
        if components.facts(kind, name).reveals:
            return None  # what the protocol reveals comes before it learns
        if kind == "learners":
            return Worker(place, kind, name, dict(settings))
        words = components.facts(kind, name).words("warms", settings)
        if not words or (INSIDE in words and components.defines(kind, name, "inner_problem")):
            return None
        if INSIDE not in words:
            return Worker(place, kind, name, {key: settings[key] for key in sorted(words)})
    return None


def shared(spec: dict[str, Any]) -> dict[str, Any] | None:
    """Return the part of a run's spec that decides its warm-up; None if the run does its own."""
    found = worker(spec["learner"])
    if found is None:
        return None
    return {
        "study": spec["study"],
        "stream": spec["stream"],
        "component": [found.kind, found.name, found.settings],
        "model": spec["model"] if found.kind == "learners" else None,
        "seeds": spec["seeds"],
    }


def name(component: Sequence[Any], model: Sequence[Any] | None) -> str:
    """Return the name of a warm-up, the same whatever else a study compares."""
    decides = json.dumps([component, model], sort_keys=True)
    return f"{component[1]}-{hashlib.sha256(decides.encode()).hexdigest()[:8]}"

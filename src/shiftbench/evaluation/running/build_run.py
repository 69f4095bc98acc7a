"""A run built from its spec: stream, learner, metrics and seeds."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import xarray as xr

from shiftbench.config import components
from shiftbench.config.pipeline_parts import by_kind
from shiftbench.core import seeds as seeding
from shiftbench.core.interface import Learner, LearnerError, Problem
from shiftbench.core.metric import Metric
from shiftbench.evaluation.running import pipeline, warm_up
from shiftbench.evaluation.running.warm_up import Warmed

log = logging.getLogger("shiftbench")


@dataclass(frozen=True)
class Run:
    """Everything that a run consists of; it does not change during the run.

    learner: None if it refused the stream, for the reason in `refused`. numbers: the numbers of
    the S seeds; realisations: the realisation of the stream that each seed has; seeds: [S, 2].
    needs: what the learner and combinators need the protocol to reveal.
    """

    spec: dict
    stream: xr.Dataset | xr.DataTree
    name: str
    reader: ModuleType
    problem: Problem
    metrics: list[Metric]
    learner: Learner | None
    refused: str
    needs: frozenset[str]
    numbers: list[int]
    realisations: list[int]
    seeds: np.ndarray

    @property
    def looks_back(self) -> bool:
        """True if all tasks so far are tested after each task, not the last one alone."""
        return hasattr(self.reader, "test")

    @property
    def keeps(self) -> bool:
        """True if predictions are kept row by row."""
        return "predictions" in self.spec.get("keeps", ())

    @property
    def looks(self) -> int:
        """The number of times that the learner is judged in a task; the last is its end."""
        return self.spec.get("looks", 1)

    @property
    def labels(self) -> xr.Dataset:
        """The variables of the stream that describe its tasks."""
        stream = self.stream
        return stream if isinstance(stream, xr.Dataset) else stream.to_dataset()


def run(spec: dict, stream: xr.Dataset | xr.DataTree, warmed: Warmed | None = None) -> Run:
    """Build the run that a spec (see config/specs.py) describes.

    warmed: its warm-up, if a job did it for several runs.
    """
    name = f"{spec['study']}/{spec['stream']['name']}/{spec['method']}"
    reader = components.load("streams", spec["stream"]["family"])
    problem: Problem = reader.problem(stream)
    first, last = spec["seeds"]
    numbers = list(range(first, last + 1))
    learner, refused = None, ""
    try:
        begin = warm_up.beginning(spec, stream, problem, warmed)
        learner = pipeline.assemble(spec["learner"], spec["model"], problem, begin)
    except LearnerError as error:
        refused = f"LearnerError: {error}"
        log.error("%s: %s", name, error)
    return Run(
        spec=spec,
        stream=stream,
        name=name,
        reader=reader,
        problem=problem,
        metrics=[components.load_metric(name) for name in spec["metrics"]],
        learner=learner,
        refused=refused,
        needs=_needs(spec["learner"]),
        numbers=numbers,
        realisations=[number % stream.sizes["realisation"] for number in numbers],
        seeds=seeding.block(numbers, spec["study"], spec["stream"]["name"], spec["method"]),
    )


def _needs(pipeline: Sequence) -> frozenset[str]:
    parts = [components.facts(kind, name) for kind, (name, _) in by_kind(pipeline)]
    return frozenset(need for facts in parts for need in facts.reveals)

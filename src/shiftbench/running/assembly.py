"""The parts of a run, put together from its spec: stream, learner, metrics, seeds."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType

import numpy as np
import xarray as xr

from shiftbench import seeds as seeding
from shiftbench.combinators._without_rows import unmoved
from shiftbench.interface import Learner, LearnerError, Problem
from shiftbench.planning import components

log = logging.getLogger("shiftbench")


@dataclass(frozen=True)
class Run:
    """All that a run is made of; nothing of it changes while it runs.

    learner: None if it refused the stream, for the reason in `refused`. numbers: of the S
    seeds; realisations: which one of the stream each of them has; seeds: [S, 2]. needs: what
    its learner and combinators ask the protocol to reveal.
    """

    spec: dict
    stream: xr.Dataset | xr.DataTree
    name: str
    reader: ModuleType
    problem: Problem
    metrics: dict[str, ModuleType]
    learner: Learner | None
    refused: str
    needs: frozenset[str]
    numbers: list[int]
    realisations: list[int]
    seeds: np.ndarray

    @property
    def looks_back(self) -> bool:
        """Whether all tasks so far are tested, and not the last one alone."""
        return hasattr(self.reader, "test")

    @property
    def labels(self) -> xr.Dataset:
        """What the stream says of its tasks."""
        stream = self.stream
        return stream if isinstance(stream, xr.Dataset) else stream.to_dataset()


def run(spec: dict, stream: xr.Dataset | xr.DataTree) -> Run:
    """The parts of the run that a spec (see planning/specs.py) describes."""
    name = f"{spec['study']}/{spec['stream']['name']}/{spec['variant']}"
    reader = components.load("streams", spec["stream"]["family"])
    problem: Problem = reader.problem(stream)
    first, last = spec["seeds"]
    numbers = list(range(first, last + 1))
    learner, refused = None, ""
    try:
        learner = assemble(spec["learner"], spec["model"], problem)
    except LearnerError as error:
        refused = f"LearnerError: {error}"
        log.error("%s: %s", name, error)
    return Run(
        spec=spec,
        stream=stream,
        name=name,
        reader=reader,
        problem=problem,
        metrics={metric: components.load("metrics", metric) for metric in spec["metrics"]},
        learner=learner,
        refused=refused,
        needs=_needs(spec["learner"]),
        numbers=numbers,
        realisations=[number % stream.sizes["realisation"] for number in numbers],
        seeds=seeding.block(numbers, spec["study"], spec["stream"]["name"], spec["variant"]),
    )


def assemble(pipeline: Sequence, model_spec: Sequence | None, problem: Problem) -> Learner:
    """The learner of a variant: combinators, outermost first, around a learner on a model."""
    *outer, (name, settings) = pipeline
    around = []
    for combinator, combinator_settings in outer:
        module, made = _configured("combinators", combinator, combinator_settings)
        around.append(partial(module.build, made, problem))
        if hasattr(module, "inner_problem"):
            problem = module.inner_problem(made, problem)
    model = None
    if model_spec is not None:
        module, made = _configured("models", *model_spec)
        model = module.build(made, problem)
    module, made = _configured("learners", name, settings)
    learner = unmoved(module.build(made, problem, model))
    for wrap in reversed(around):
        learner = wrap(learner)
    return learner


def _configured(kind: str, name: str, settings: dict) -> tuple[ModuleType, object]:
    module = components.load(kind, name)
    return module, module.Settings(**{k: _tuples(v) for k, v in settings.items()})


def _tuples(value):
    """Lists of a spec (JSON has no other sequence) as the tuples that settings hold."""
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _needs(pipeline: Sequence) -> frozenset[str]:
    *outer, (name, _) = pipeline
    kinds = [("combinators", combinator) for combinator, _ in outer] + [("learners", name)]
    return frozenset(need for kind in kinds for need in components.constant(*kind, "NEEDS", ()))

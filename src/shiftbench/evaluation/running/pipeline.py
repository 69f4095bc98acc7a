"""Learners assembled from the components of a pipeline and their settings, as in specs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from shiftbench.config import components, warm_ups
from shiftbench.core import prediction_checks, state_checks
from shiftbench.core.interface import Batch, Info, Learner, Problem, State
from shiftbench.methods.without_rows import unmoved

Begin = Callable[[State, Batch, np.ndarray], tuple[State, Info]]


def assemble(
    pipeline: Sequence, model_spec: Sequence | None, problem: Problem, begin: Begin | None = None
) -> Learner:
    """Build the learner of a pipeline: combinators, outermost first, around a learner.

    model_spec: name and settings of the learner's model, if it has one. begin: replaces the
    warm-up of the component that does it.
    """
    *outer, (name, settings) = pipeline
    around = []
    for combinator, combinator_settings in outer:
        module, configured = _configured("combinators", combinator, combinator_settings)
        around.append(partial(_combined, combinator, module.build, configured, problem))
        if hasattr(module, "inner_problem"):
            problem = module.inner_problem(configured, problem)
    worker = warm_ups.worker(pipeline) if begin else None
    learner = _learner(name, settings, model_spec, problem)
    for position in reversed(range(len(pipeline))):
        if position < len(around):
            learner = around[position](learner)
        if worker and worker.place == position:
            learner = replace(learner, warm_up=begin)
    return learner


def warm_up_worker(
    kind: str, name: str, settings: dict, model_spec: Sequence | None, problem: Problem
) -> Learner:
    """Build the component that does a warm-up, without the others of its pipeline."""
    if kind == "learners":
        return _learner(name, settings, model_spec, problem)
    module, configured = _configured(kind, name, settings)
    return module.build(configured, problem, Learner(_nothing, _nothing, _nothing))


def _combined(
    name: str, build: Callable[..., Learner], settings: object, problem: Problem, inner: Learner
) -> Learner:
    return _checked(build(settings, problem, inner), problem, "combinators", name)


def _learner(name: str, settings: dict, model_spec: Sequence | None, problem: Problem) -> Learner:
    model = None
    if model_spec is not None:
        kind, of_model = model_spec
        of_shapes = components.facts("learners", name).model == "shapes"
        model = (_described if of_shapes else _built)(kind, of_model, problem)
    module, configured = _configured("learners", name, settings)
    return unmoved(_checked(module.build(configured, problem, model), problem, "learners", name))


def _built(name: str, settings: dict, problem: Problem) -> Any:
    module, configured = _configured("models", name, settings)
    return module.build(configured, problem)


def _described(name: str, settings: dict, problem: Problem) -> Any:
    if components.defines("models", name, "describe"):
        module, configured = _configured("models", name, settings)
        return module.describe(configured, problem)
    # Imported by name, so that only runs of learners that need it depend on it (config/specs.py).
    return import_module("shiftbench.core.shapes").describe(name, settings, problem)


def _checked(learner: Learner, problem: Problem, kind: str, name: str) -> Learner:
    component = source(kind, name)
    return prediction_checks.checked(state_checks.checked(learner, component), problem, component)


def source(kind: str, name: str) -> str:
    """Return the name and the file of a component, for errors."""
    return f"{kind[:-1]} {name} ({components.path(kind, name)})"


def _nothing(*_: Any) -> Any:
    """Return an empty state."""
    return {}


def _configured(kind: str, name: str, settings: dict) -> tuple[ModuleType, Any]:
    """Return the module of a component and its settings."""
    return components.load(kind, name), components.configured(kind, name, settings)

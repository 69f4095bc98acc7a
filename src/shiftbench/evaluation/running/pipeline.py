"""Learners, made from the components of a pipeline with their settings, as specs have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from shiftbench.config import components, warm_ups
from shiftbench.core.interface import Batch, Info, Learner, Problem, State
from shiftbench.core.prediction_checks import checked
from shiftbench.methods.combinators._without_rows import unmoved

Begin = Callable[[State, Batch, np.ndarray], tuple[State, Info]]


def assemble(
    pipeline: Sequence, model_spec: Sequence | None, problem: Problem, begin: Begin | None = None
) -> Learner:
    """The learner of a variant: combinators, outermost first, around a learner on a model.

    begin: takes the place of that of the component that does the work of a warm-up.
    """
    *outer, (name, settings) = pipeline
    around = []
    for combinator, combinator_settings in outer:
        module, made = _configured("combinators", combinator, combinator_settings)
        around.append(partial(_combined, combinator, module.build, made, problem))
        if hasattr(module, "inner_problem"):
            problem = module.inner_problem(made, problem)
    worker = warm_ups.worker(pipeline) if begin else None
    learner = _learner(name, settings, model_spec, problem)
    for place in reversed(range(len(pipeline))):
        if place < len(around):
            learner = around[place](learner)
        if worker and worker.place == place:
            learner = replace(learner, warm_up=begin)
    return learner


def alone(
    kind: str, name: str, settings: dict, model_spec: Sequence | None, problem: Problem
) -> Learner:
    """The component that does the work of a warm-up, without the others of its pipeline."""
    if kind == "learners":
        return _learner(name, settings, model_spec, problem)
    module, made = _configured(kind, name, settings)
    return module.build(made, problem, Learner(_nothing, _nothing, _nothing))


def _combined(
    name: str, build: Callable[..., Learner], settings: object, problem: Problem, inner: Learner
) -> Learner:
    return checked(build(settings, problem, inner), problem, _place("combinators", name))


def _learner(name: str, settings: dict, model_spec: Sequence | None, problem: Problem) -> Learner:
    model = None
    if model_spec is not None:
        kind, of_model = model_spec
        of_shapes = components.constant("learners", name, "MODEL") == "shapes"
        model = (_described if of_shapes else _built)(kind, of_model, problem)
    module, made = _configured("learners", name, settings)
    learner = checked(module.build(made, problem, model), problem, _place("learners", name))
    return unmoved(learner)


def _built(name: str, settings: dict, problem: Problem) -> Any:
    module, made = _configured("models", name, settings)
    return module.build(made, problem)


def _described(name: str, settings: dict, problem: Problem) -> Any:
    if components.defines("models", name, "describe"):
        module, made = _configured("models", name, settings)
        return module.describe(made, problem)
    # By its name: only runs of learners that ask for it depend on it (config/specs.py).
    return import_module("shiftbench.core.shapes").describe(name, settings, problem)


def _place(kind: str, name: str) -> str:
    """A component and its file, for errors."""
    return f"{kind[:-1]} {name} ({components.path(kind, name)})"


def _nothing(*_: Any) -> Any:
    """The state of nobody."""
    return {}


def _configured(kind: str, name: str, settings: dict) -> tuple[ModuleType, object]:
    module = components.load(kind, name)
    return module, module.Settings(**{k: _tuples(v) for k, v in settings.items()})


def _tuples(value):
    """Lists of a spec (JSON has no other sequence) as the tuples that settings hold."""
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value

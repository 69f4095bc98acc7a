"""Builds the learner of a method for rows of a given form, or says why that is impossible."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shiftbench.api.definition import Definition
from shiftbench.api.input_error import InputError
from shiftbench.config.compatibility_reasons import reason_for
from shiftbench.config.compatibility_words import in_words
from shiftbench.config.compatible_pipelines import (
    Fitted,
    Given,
    Misfit,
    Part,
    fit_pipeline,
    part_of,
    parts_of,
)
from shiftbench.core.interface import Learner, Problem
from shiftbench.evaluation.running import pipeline

ROWS = Part("streams", "table-file", None, "the rows")
"""A name for the source of the rows, which takes the place of a stream."""


class Form(NamedTuple):
    """The form of the rows of a stream.

    inputs: the shape of the inputs of a row, () without. outputs: real targets or classes.
    classes: whether targets are labels. rows: of the first task; 1 where each row is a task.
    """

    inputs: tuple[int, ...]
    outputs: int
    classes: bool
    rows: int


class Endless(Problem):
    """A problem whose number of tasks is unknown."""

    def __getattribute__(self, name: str) -> Any:
        """Raise InputError where a learner asks for the number of tasks."""
        if name == "n_tasks":
            raise InputError(
                "this method needs the number of tasks before it begins: for a memory of earlier"
                " rows, or a step size; give it: sb.method(..., tasks=NUMBER)"
            )
        return super().__getattribute__(name)


class Built(NamedTuple):
    """A learner with its problem, and what it predicts, a word of `facts.PREDICTIONS`."""

    learner: Learner
    problem: Problem
    prediction: str

    def inputs(self, inputs: np.ndarray) -> np.ndarray:
        """Return inputs of rows as the learner takes them, [1, n, *input_shape].

        inputs: [n, ...], or [n] for rows without inputs. A series without inputs, where
        the learner takes a design, has a constant design matrix.
        """
        of_row = self.problem.input_shape
        shape = (1, len(inputs), *of_row)
        if inputs.ndim > 1:
            return inputs.reshape(shape)
        if of_row == (0,):
            return np.empty(shape)
        outputs = self.problem.n_outputs
        if outputs == 1:
            return np.ones(shape)
        design = np.eye(outputs)
        return design.reshape(shape) if len(inputs) == 1 else np.broadcast_to(design, shape)


def built(definition: Definition, form: Form, tasks: int | None) -> Built:
    """Return the learner of a method for rows of a form, whose number of tasks may be None.

    Raises
    ------
    InputError
        Where the method does not fit such rows, or needs the number of tasks.
    """
    misfits = []
    for kind in _kinds(form):
        fitted = _fitted(definition, kind, form)
        if fitted.misfit is None:
            made = Problem if tasks is not None else Endless
            shape = _input_shape(form, kind)
            what = "classification" if form.classes else "regression"
            problem = made(what, shape, form.outputs, form.rows, tasks or 0)  # type: ignore[arg-type]
            learner = pipeline.assemble(definition.pipeline, definition.model, problem)
            return Built(learner, problem, fitted.prediction)
        misfits.append(fitted.misfit[1])
    # The kind that fits best gives the most useful message.
    misfit = next((one for one in misfits if one[2] != "takes"), misfits[-1])
    if not isinstance(misfit, Misfit):
        raise InputError(reason_for(misfit))
    raise InputError(_why(misfit, form))


def _kinds(form: Form) -> list[str]:
    """Return the kinds of problem that rows of a form may be, the best first."""
    if form.classes:
        flat = len(form.inputs) == 1
        if not form.inputs:
            raise InputError("classes are predicted from inputs; give x")
        return [*["two-classes"] * (flat and form.outputs == 2), "classes" if flat else "image"]
    if not form.inputs:
        return ["value", "design"]
    if len(form.inputs) == 1 and form.outputs > 1:
        raise InputError(
            f"a row with {form.outputs} targets needs a design matrix: give x as an array"
            " [targets, regressors]"
        )
    return {1: ["number"], 2: ["design"], 3: ["designs"]}.get(len(form.inputs), ["number"])


def _input_shape(form: Form, kind: str) -> tuple[int, ...]:
    if kind == "value":
        return (0,)
    if kind == "design":
        return (1, *(form.inputs or (form.outputs, form.outputs)))
    return form.inputs


def _fitted(definition: Definition, kind: str, form: Form) -> Fitted:
    """Return whether a method fits rows of a kind, given the properties of this form."""
    has = {
        "one-row": form.rows == 1,
        "series": kind in ("value", "design"),
        "plane": form.inputs in ((1,), (2,)),
    }
    words = [word for word, true in has.items() if true]
    rows = Given(kind, ROWS, dict.fromkeys(words, ROWS))
    model = definition.model and part_of("models", definition.model, f'"{definition.model[0]}"')
    fitted = fit_pipeline(parts_of(definition.pipeline), model, rows)
    assert fitted is not None, "settings have been checked"
    return fitted


def _why(misfit: Misfit, form: Form) -> str:
    """Return why a component does not fit rows, with the remedy."""
    part, now, fact, word = misfit
    if fact == "takes":
        takes = part.facts.possible("takes")
        text = f"{part.label} takes {in_words(takes, 'or')}, and these are {in_words([now.kind])}"
        if not form.classes and "classes" in takes:
            return f"{text}; name the classes of labels: sb.method(..., classes=[...])"
        return f"{text}; take another method"
    if fact == "unsupported":
        return f"{part.label}: {word}"
    if fact == "requires":
        return f"{part.label} needs {in_words([word])}, which rows do not have; take another method"
    return f"{part.label} does not go with {in_words([word])}; change its settings, or take another"

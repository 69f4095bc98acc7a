"""Work of a method of the library, with its own settings: a training step, or single rows.

A step belongs to the second task, in which a method has a memory, a prior and a teacher.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from perf import problems
from perf.problems import Case
from perf.work import Work
from shiftbench.config import components
from shiftbench.config.library import OURS, Library
from shiftbench.config.pipeline_parts import by_kind
from shiftbench.config.schema import one_component
from shiftbench.core import seeds as seeding
from shiftbench.core.interface import Batch, Learner, Problem, State
from shiftbench.evaluation.running.pipeline import assemble

SCALE = 0.1
"""Scale of inputs in [0, 1): filters that see random labels once would diverge otherwise."""
FEW = 32
"""Rows of a task for slow learners that see each row once."""
BLOCK = 500
"""Rows per call if a method takes blocks of rows."""


@cache
def library() -> Library:
    """Return the library of our methods."""
    return Library(OURS)


def pipeline(method: str) -> list[tuple[str, dict[str, Any]]]:
    """Return a method's components with settings, outermost first; empty without a pipeline."""
    found = library().methods[method].data.get("pipeline") or []
    return [one_component(item) for _, item in by_kind(found)]


def takes(method: str) -> tuple[bool, frozenset[str]]:
    """Return whether the learner trains the study's network, and the problems it takes."""
    facts = components.facts("learners", pipeline(method)[-1][0])
    return facts.model is True, frozenset(facts.possible("takes"))


def steps(method: str, epochs: tuple[int, int], case: Case = problems.WIDE) -> Work:
    """Return steps of some epochs minus those of fewer, so that the end of a task does not count.

    A learner that sees each row once has no epochs, so a whole task of few rows counts.
    """
    fields = components.fields("learners", pipeline(method)[-1][0])
    steps = -(-case.rows // case.batch)
    if "epochs" not in fields:
        few_rows = case._replace(rows=min(case.rows, FEW))
        return Work(_observing(method, {}, few_rows), few_rows.rows / case.batch)
    few, many = (
        _observing(method, {"epochs": one, "batch_size": case.batch}, case) for one in epochs
    )
    return Work(many, (epochs[1] - epochs[0]) * steps, few)


def _observing(method: str, length: dict[str, int], case: Case) -> Callable[[], object]:
    *outer, (name, settings) = pipeline(method)
    heads = 2 if "heads" in components.facts("learners", name).possible("requires") else 1
    problem = Problem("classification", case.inputs, 10 * heads, case.rows, 2, heads)
    fields = components.fields("learners", name)
    trained = (name, settings | {key: length[key] for key in length if key in fields})
    model = ("mlp", {"hidden": list(case.hidden or ())})
    learner = assemble([*outer, trained], model, problem)
    inputs, labels = problems.rows_of(case)
    inputs *= SCALE
    key = seeding.block(range(case.seeds), "perf")
    state = learner.init(key)
    for task in range(2):
        of_head = np.full((*labels.shape, 1), task, np.float32)
        rows = np.concatenate([inputs, of_head], axis=-1) if heads > 1 else inputs
        batch = Batch(rows, labels + 10 * task * (heads > 1), labels == labels)
        if task == 0:
            state, _ = learner.observe(state, batch, key)
    return partial(learner.observe, state, batch, key)


def rows(method: str, number: int) -> Work:
    """Return time update, prediction and update of one-row tasks, in blocks if possible."""
    problem, batch = _of_rows(takes(method)[1], number)
    learner = assemble(pipeline(method), None, problem)
    run = _in_blocks if learner.block else _one_by_one
    return Work(partial(run, learner, batch, seeding.block(range(1), "perf")), number)


def _of_rows(kinds: frozenset[str], number: int) -> tuple[Problem, Batch]:
    """Return values of a series, two classes, or one real target of features or a design."""
    seen = np.ones((1, number), bool)
    if "value" in kinds:
        values = _scaled(problems.level_changes(number))
        problem = Problem("regression", (0,), 1, 1, number)
        return problem, Batch(np.zeros((1, number, 0)), values.reshape(1, -1, 1), seen)
    if "two-classes" in kinds:
        inputs, labels = problems.classes(number)
        problem = Problem("classification", inputs.shape[1:], 2, 1, number)
        return problem, Batch(inputs[np.newaxis], labels[np.newaxis], seen)
    inputs, targets = problems.regression(number)
    if "number" in kinds:
        problem = Problem("regression", inputs.shape[1:], 1, 1, number)
        return problem, Batch(inputs[np.newaxis], targets.reshape(1, -1, 1), seen)
    raise ValueError(f"no rows for a learner that takes {', '.join(sorted(kinds))}")


def _scaled(values: np.ndarray) -> np.ndarray:
    return (values - values.mean()) / values.std()


def _in_blocks(learner: Learner, batch: Batch, key: np.ndarray) -> State:
    state = learner.init(key)
    for first in range(0, batch.mask.shape[1], BLOCK):
        part = Batch(*(array[:, first : first + BLOCK] for array in batch))
        state, *_ = learner.block(state, part, True)
    return state


def _one_by_one(learner: Learner, batch: Batch, key: np.ndarray) -> State:
    state = learner.init(key)
    for i in range(batch.mask.shape[1]):
        row = Batch(*(array[:, i : i + 1] for array in batch))
        state = learner.drift(state, key)
        learner.predict(state, row.inputs, key)
        state, _ = learner.observe(state, row, key)
    return state

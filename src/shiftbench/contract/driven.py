"""Learners and combinators on their small problems, driven as the harness drives them."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.contract.blocks import equal, single_rows
from shiftbench.contract.problems import PARTS, key
from shiftbench.core.interface import Batch, Info, Learner, Predictive, Problem, State


def after(learner: Learner, problem: Problem, tasks: int, state=None, first: int = 0):
    """State and infos after some tasks, driven as the harness drives it."""
    state = learner.init(key("init")) if state is None else state
    infos = []
    for t in range(first, tasks):
        state = learner.drift(state, key("drift", t))
        state, info = learner.observe(state, batch_of(problem, seed=t), key("observe", t))
        infos.append(info)
    return state, infos


def batch_of(problem: Problem, seed: int = 0) -> Batch:
    """Return a batch of a problem, drawn with a seed."""
    return PARTS.batch(problem, seed)


def with_block(case) -> tuple[Learner, Batch, State]:
    """Return a learner with blocks, 7 tasks of one row and its first state; skip without blocks."""
    learner, problem = case
    if learner.block is None:
        pytest.skip("no blocks of rows")
    return learner, single_rows(problem, PARTS.batch, 7), learner.init(key("init"))


def changed_for(seed: int, batch: Batch, problem: Problem) -> Batch:
    """Return the batch with other inputs, and other targets in every row, of one seed."""
    inputs, targets = batch.inputs.copy(), batch.targets.copy()
    inputs[seed] += 1
    targets[seed] += 1
    if problem.kind == "classification":
        targets[seed] %= min(3, problem.n_outputs)
    return batch._replace(inputs=inputs, targets=targets)


def named(state: State, info: Info, predictive: Predictive) -> dict[str, np.ndarray]:
    """Return the arrays that a learner gives, by names for messages."""
    predicted = predictive._asdict().items()
    return (
        {f"array {name!r} of the state": array for name, array in state.items()}
        | {f"array {name!r} of the Info": array for name, array in info.items()}
        | {f"{name} of the prediction": array for name, array in predicted if array is not None}
    )


def same_predictions(one: tuple, two: tuple) -> bool:
    """Return whether two predictions have the same bytes and types."""
    return type(one) is type(two) and all(map(equal, one, two))

"""Compares rows learnt in a block with the same rows learnt one by one; each row is a task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from shiftbench.contract.problems import key
from shiftbench.core.interface import Batch, Info, Learner, Predictive, Problem, State

Results = tuple[State, Predictive, Info]


def single_rows(problem: Problem, draw: Callable[[Problem, int], Batch], n: int) -> Batch:
    """The rows of n tasks of one row each, one of them masked."""
    tasks = [draw(replace(problem, n_train=1), seed) for seed in range(n)]
    batch = Batch(*(np.concatenate(parts, axis=1) for parts in zip(*tasks, strict=True)))
    batch.mask[0, min(2, n - 1)] = False
    return batch


def one_by_one(learner: Learner, state: State, batch: Batch, drift_first: bool) -> Results:
    """Return state, predictions and infos after rows that are tasks, learnt one by one."""
    predictions, infos = [], []
    seeds = np.resize(key("row"), (len(batch.mask), 2))
    for i in range(batch.mask.shape[1]):
        row = Batch(*(array[:, i : i + 1] for array in batch))
        before, state = state, learner.drift(state, seeds)
        predictions.append(learner.predict(state if drift_first else before, row.inputs, seeds))
        state, info = learner.observe(state, row, seeds)
        infos.append(info)
    fields = zip(*predictions, strict=True)
    stacked = [
        None if each[0] is None else np.stack(each, axis=1).reshape(-1, *each[0].shape[1:])
        for each in fields
    ]
    info = {name: np.stack([one[name] for one in infos], axis=1) for name in infos[0]}
    return state, type(predictions[0])(*stacked), info


def equal(one: np.ndarray | None, two: np.ndarray | None) -> bool:
    """Return whether two arrays have the same values; a NaN is equal to the same NaN."""
    first, second = np.asarray(one), np.asarray(two)
    if first.shape != second.shape or np.array_equal(first, second):
        return first.shape == second.shape
    return first.dtype == second.dtype and first.tobytes() == second.tobytes()


def same(one: dict, two: dict) -> bool:
    """Return whether two states or infos have the same arrays, of the same types."""
    return one.keys() == two.keys() and all(
        equal(one[k], two[k]) and one[k].dtype == two[k].dtype for k in one
    )


def same_results(one: Results, two: Results) -> bool:
    """Return whether two results of blocks have the same bytes and types."""
    (state, predictive, info), (other_state, other, other_info) = one, two
    pairs = zip(predictive, other, strict=True)
    return (
        type(predictive) is type(other)
        and all(equal(*pair) for pair in pairs)
        and same(state, other_state)
        and same(info, other_info)
    )

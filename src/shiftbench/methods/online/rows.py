"""Learners whose update of one row is compiled, for loops over rows that are compiled too.

A learner of this kind is a `Learner` like any other. A combinator that knows the type may go
over the rows of a batch by itself, one hypothesis at a time, without a call of Python a row:
`run_length` does. Then a hypothesis is a row of numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numba import njit, types

from shiftbench.core.interface import Batch, Learner, State

ROW = types.float64[::1]
STEP = types.float64(ROW, ROW, ROW, ROW, ROW)
"""(numbers, inputs, targets, constants, scratch) -> log evidence; changes numbers, scratch."""


class CompiledRows(NamedTuple):
    """A learner as compiled loops over rows see it: a row of numbers for each hypothesis.

    check: batch -> inputs [S, n, flat] and targets [S, n, d], LearnerError for bad ones. pack:
    state -> [S, H, P] float64; unpack: the way back. step: a `numba.cfunc` of the type STEP,
    (numbers [P] of one hypothesis, inputs of a row flat, targets, constants, scratch) -> log
    evidence of the row, after which the numbers have learnt it. scratch: how many numbers.
    """

    check: Callable[[Batch], tuple[np.ndarray, np.ndarray]]
    pack: Callable[[State], np.ndarray]
    unpack: Callable[[np.ndarray], State]
    step: Any
    constants: np.ndarray
    scratch: int


@dataclass(frozen=True)
class RowLearner(Learner):
    """A learner that is also given as compiled rows, which agree with its `observe`."""

    rows: CompiledRows = field(kw_only=True)


def learn(
    rows: CompiledRows, state: State, batch: Batch, constants: np.ndarray | None = None
) -> tuple[State, np.ndarray]:
    """All hypotheses learn the rows that are seen, in order; the log evidence [S, H] of them.

    constants: [S, C], those of each repetition, in place of the ones that all have.
    """
    x, y = rows.check(batch)
    if constants is None:
        constants = np.tile(rows.constants, (len(y), 1))
    packed = rows.pack(state)
    evidence = np.zeros(packed.shape[:2])
    seen = np.require(batch.mask, bool, ["C", "W"])
    scratch = np.empty(rows.scratch)
    _each_row(rows.step, x, y, seen, packed, constants, scratch, evidence)
    return rows.unpack(packed), evidence


def pack(layout: Mapping[str, tuple[int, ...]], state: State) -> np.ndarray:
    """[S, H, P], the arrays of a state in the order of the layout.

    layout: their shapes, without seed and hypothesis.
    """
    size = next(iter(state.values())).shape[:2]
    return np.concatenate([state[name].reshape(*size, -1) for name in layout], axis=2)


def unpack(layout: Mapping[str, tuple[int, ...]], packed: np.ndarray) -> State:
    """The state whose arrays `pack` has put together."""
    ends = np.cumsum([math.prod(shape) for shape in layout.values()])[:-1]
    parts, size = np.split(packed, ends, axis=2), packed.shape[:2]
    return {
        name: part.reshape(*size, *shape)
        for (name, shape), part in zip(layout.items(), parts, strict=True)
    }


@njit(cache=True, error_model="numpy")
def _each_row(step, x, y, seen, packed, constants, scratch, evidence):
    """The loop of `learn`, in place."""
    for s in range(y.shape[0]):
        for i in range(y.shape[1]):
            if seen[s, i]:
                for h in range(packed.shape[1]):
                    evidence[s, h] += step(packed[s, h], x[s, i], y[s, i], constants[s], scratch)

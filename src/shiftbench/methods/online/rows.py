"""Learners with a compiled update for a row, for compiled loops over rows.

A `RowLearner` is a `Learner` like any other. A combinator that knows the type, such as
`run_length`, may loop over the rows of a batch itself, without a Python call for each row. A
hypothesis is then a row of numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from shiftbench.core.interface import Batch, Learner, State

ROW = types.float64[::1]
STEP = types.void(types.float64[:, ::1], ROW, ROW, ROW, ROW, ROW)
"""(numbers, inputs, targets, constants, scratch, evidence); changes numbers, scratch, evidence."""


class CompiledRows(NamedTuple):
    """A learner for compiled loops over rows: P numbers for each hypothesis.

    check: batch -> inputs [S, n, flat] and targets [S, n, d]; raises LearnerError for invalid ones.
    pack, unpack: state -> [S, H, P] float64, and back.
    step: a `numba.cfunc` of the type STEP: (numbers [H, P], flat inputs of a row, targets,
        constants, scratch, evidence [H]) updates the numbers of all hypotheses by a row, and adds
        its log evidence to `evidence`; a hypothesis at -inf there is left as it is.
    scratch: the size of the working array.
    """

    check: Callable[[Batch], tuple[np.ndarray, np.ndarray]]
    pack: Callable[[State], np.ndarray]
    unpack: Callable[[np.ndarray], State]
    step: Any
    constants: np.ndarray
    scratch: int


@dataclass(frozen=True)
class RowLearner(Learner):
    """A learner with a compiled update for rows, which agrees with its `observe`."""

    rows: CompiledRows = field(kw_only=True)


def learn(
    rows: CompiledRows, state: State, batch: Batch, constants: np.ndarray | None = None
) -> tuple[State, np.ndarray]:
    """Update all hypotheses by the seen rows, in order; return the state and log evidence [S, H].

    constants: [S, C], for each repetition, instead of rows.constants.
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
    """Return the arrays of a state in the order of the layout, [S, H, P].

    layout: the shapes by name, without seed and hypothesis.
    """
    size = next(iter(state.values())).shape[:2]
    return np.concatenate([state[name].reshape(*size, -1) for name in layout], axis=2)


def unpack(layout: Mapping[str, tuple[int, ...]], packed: np.ndarray) -> State:
    """Return the state from the array of `pack`."""
    ends = np.cumsum([math.prod(shape) for shape in layout.values()])[:-1]
    parts, size = np.split(packed, ends, axis=2), packed.shape[:2]
    return {
        name: part.reshape(*size, *shape)
        for (name, shape), part in zip(layout.items(), parts, strict=True)
    }


def borrowed(array: np.ndarray) -> np.ndarray:
    """Return the array, in compiled code as a view that is not counted as a reference.

    Its slices are not counted either. Counting each slice of a hypothesis takes several times as
    long as a step with few regressors. The array must live as long as the view, as the arguments of
    a function do while it runs.
    """
    return array


@intrinsic
def _without_owner(context, array):
    """Return a copy of the array's header with no owner, which numba then does not count."""

    def code(target, builder, signature, arguments):
        header = cgutils.create_struct_proxy(array)(target, builder, arguments[0])
        header.meminfo = cgutils.get_null_value(header.meminfo.type)
        return header._getvalue()

    return array(array), code


@overload(borrowed)
def _compiled_borrowed(array):
    """Give numba the compiled form of `borrowed`."""
    return lambda array: _without_owner(array)


@njit(cache=True, error_model="numpy")
def _each_row(step, x, y, seen, packed, constants, scratch, evidence):
    """Run the loop of `learn`, in place."""
    for s in range(y.shape[0]):
        for i in range(y.shape[1]):
            if seen[s, i]:
                step(packed[s], x[s, i], y[s, i], constants[s], scratch, evidence[s])

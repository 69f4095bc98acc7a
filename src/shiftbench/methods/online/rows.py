"""Learners with compiled functions of a row, for compiled loops over rows.

A `RowLearner` is a `Learner` like any other. A hypothesis is a row of numbers, which compiled
functions predict with, update by a row, and widen. The learner's own functions are loops over
these. A combinator that knows the type, such as `beam`, has loops of its own, so that no row needs
a call from Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numba import njit

from shiftbench.core.interface import (
    Batch,
    Block,
    Broadening,
    Gaussian,
    Info,
    Learner,
    Predictive,
    State,
)
from shiftbench.methods.online.row_functions import STEP as STEP
from shiftbench.methods.online.row_functions import borrowed as borrowed
from shiftbench.methods.online.row_functions import call
from shiftbench.methods.online.row_values import plain
from shiftbench.methods.posteriors import mean_field_gaussian

NO_TARGETS, NO_MASK = np.empty((0, 0, 0)), np.empty((0, 0), bool)
"""Empty targets and mask, for loops that need none."""

Predicted = Callable[[], Predictive]
"""Makes the prediction that a block has found."""


class CompiledRows(NamedTuple):
    """A learner for compiled loops over rows: P numbers for each hypothesis.

    check: batch -> inputs [S, n, flat] and targets [S, n, d]; raises LearnerError for invalid ones.
    features: inputs -> inputs [S, n, flat].
    pack, unpack: state -> [S, H, P] float64, and back.
    step: a `numba.cfunc` of the type STEP: (numbers [H, P], flat inputs of a row, targets,
        constants, scratch, evidence [H]) updates the numbers of all hypotheses by a row, and adds
        its log evidence to `evidence`; a hypothesis at -inf there is left as it is.
    predict: the same type: (numbers, flat inputs, nothing, constants, scratch, out [H outputs])
        fills `out`.
    predictive: (log weights [S, H], out [S, H, n, outputs]) -> the prediction.
    scratch: the size of the working array.
    broaden: the same type: (numbers, what `widening` returns, nothing, constants, scratch,
        refused [H]) widens all hypotheses, and sets `refused` to 1 where that cannot be. None if
        there is no such function.
    sums: how many of the numbers, the last ones, are sums over the rows of a task for its Info;
        `pack` and loops set them to 0 before a task.
    kept: first and last + 1 of the numbers that Info needs after a task. info: (kept numbers
        [..., H, N], log evidence
        [..., H]) -> Info.
    """

    check: Callable[[Batch], tuple[np.ndarray, np.ndarray]]
    features: Callable[[np.ndarray], np.ndarray]
    pack: Callable[[State], np.ndarray]
    unpack: Callable[[np.ndarray], State]
    step: Any
    predict: Any
    predictive: Callable[[np.ndarray, np.ndarray], Predictive]
    outputs: int
    constants: np.ndarray
    scratch: int
    broaden: Any = None
    sums: int = 0
    kept: tuple[int, int] = (0, 0)
    info: Callable[[np.ndarray, np.ndarray], Info] = lambda _, evidence: {"log_evidence": evidence}

    @property
    def addresses(self) -> np.ndarray:
        """The addresses of predict, step and broaden, for compiled loops; 0 for none."""
        return np.array([f.address if f else 0 for f in (self.predict, self.step, self.broaden)])

    def places(self, packed: np.ndarray) -> np.ndarray:
        """Return where the kept numbers begin and end in packed [S, H, P], and the sums begin."""
        return np.array([*self.kept, packed.shape[2] - self.sums])


@dataclass(frozen=True)
class RowLearner(Learner):
    """A learner whose functions are loops over compiled ones.

    by_row: whether `run_length` takes each row for an observation, and not a task.
    """

    rows: CompiledRows = field(kw_only=True)
    by_row: bool = field(kw_only=True, default=True)

    @classmethod
    def of(cls, init: Callable[[np.ndarray], State], rows: CompiledRows, **fields: Any) -> Self:
        """Return the learner of these compiled functions; fields: further ones of the class."""

        def predict_rows(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
            return predict(rows, state, inputs)

        def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
            return learn(rows, state, batch)

        def advance(
            packed: np.ndarray, batch: Batch, drift_first: bool
        ) -> tuple[np.ndarray, Predicted, Info]:
            return run(rows, packed, batch, drift_first, Drift())

        block = Block(rows.pack, advance, rows.unpack)
        return cls(init, predict_rows, observe, block=block, rows=rows, **fields)


def compiled_of(learner: Learner) -> CompiledRows | None:
    """Return the compiled functions of the learner; None if it has none."""
    return learner.rows if isinstance(learner, RowLearner) and learner.block else None


def predict(rows: CompiledRows, state: State, inputs: np.ndarray) -> Predictive:
    """Return the predictions of all hypotheses, with equal weights."""
    packed, x = rows.pack(state), rows.features(inputs)
    (s, h), n = packed.shape[:2], x.shape[1]
    out = np.empty((s, n, h * rows.outputs))
    _predict(rows.predict.address, packed, Data.of(rows, x, NO_TARGETS, NO_MASK), out)
    out = out.reshape(s, n, h, rows.outputs).swapaxes(1, 2)
    return rows.predictive(equal_weights(s, h), out)


def learn(
    rows: CompiledRows, state: State, batch: Batch, constants: np.ndarray | None = None
) -> tuple[State, Info]:
    """Update all hypotheses by the seen rows, in order.

    constants: [S, C], for each repetition, instead of rows.constants.
    """
    x, y = rows.check(batch)
    if constants is None:
        constants = np.tile(rows.constants, (len(y), 1))
    packed = rows.pack(state)
    evidence = np.zeros(packed.shape[:2])
    _learn(rows.step.address, packed, Data.of(rows, x, y, batch.mask), constants, evidence)
    return rows.unpack(packed), rows.info(packed[..., slice(*rows.kept)], evidence)


def broaden(rows: CompiledRows, state: State, broadening: Broadening) -> tuple[State, np.ndarray]:
    """Widen all hypotheses; return the state, and [S, H] which of them cannot be widened."""
    packed = rows.pack(state)
    refused = np.zeros(packed.shape[:2])
    data = Data.of(rows, NO_TARGETS, NO_TARGETS, NO_MASK)
    _broaden(rows.broaden.address, packed, widening(broadening), data, refused)
    return rows.unpack(packed), refused > 0


def widening(broadening: Broadening) -> np.ndarray:
    """Return a broadening as numbers: beta, share of the prior, added variance, way to widen."""
    how = broadening
    return np.array([how.beta, how.prior_share, how.variance, mean_field_gaussian.way(how)], float)


def equal_weights(repetitions: int, hypotheses: int) -> np.ndarray:
    """Return the log weights [S, H] of equally likely hypotheses."""
    return np.full((repetitions, hypotheses), -math.log(hypotheses))


class Drift(NamedTuple):
    """The change of each hypothesis between two tasks.

    widening: it is widened, except before the first of all tasks. home: [S, H, P], it becomes
    this. done: the number of tasks before these.
    """

    widening: np.ndarray = np.empty(0)
    home: np.ndarray = np.empty((0, 0, 0))
    done: int = 0


def run(
    rows: CompiledRows, packed: np.ndarray, batch: Batch, drift_first: bool, drift: Drift
) -> tuple[np.ndarray, Predicted, Info]:
    """Predict and learn n rows, each of them a task; see `Block.advance`.

    packed: [S, H, P]. Raises ArithmeticError if a hypothesis cannot be widened.
    """
    (x, y), packed = rows.check(batch), packed.copy()
    (s, n), h = y.shape[:2], packed.shape[1]
    found = Found.empty(rows, s, n, h)
    data, places = Data.of(rows, x, y, batch.mask), rows.places(packed)
    if _run(rows.addresses, packed, data, drift, places, drift_first, found):
        raise ArithmeticError("a hypothesis cannot be widened")
    predicted = partial(found.predictive, rows, equal_weights(s * n, h))
    return packed, predicted, rows.info(found.kept, found.evidence)


class Data(NamedTuple):
    """Inputs [S, n, flat], targets [S, n, d] and mask [S, n], and more for compiled functions."""

    x: np.ndarray
    y: np.ndarray
    seen: np.ndarray
    constants: np.ndarray
    scratch: np.ndarray
    nothing: np.ndarray

    @classmethod
    def of(cls, rows: CompiledRows, x: np.ndarray, y: np.ndarray, seen: np.ndarray) -> Data:
        """Return the data with the learner's constants and a working array."""
        x, y, seen = plain(x), plain(y), plain(seen, bool)
        return cls(x, y, seen, rows.constants, np.empty(rows.scratch), np.empty(0))


class Found(NamedTuple):
    """Results of compiled loops at each row, in arrays that the loops fill.

    out: [S, n, H outputs], predictions of H hypotheses. evidence: [S, n, H'], kept: [S, n, H', N],
    numbers for Info, of the H' hypotheses after the row.
    """

    out: np.ndarray
    evidence: np.ndarray
    kept: np.ndarray

    @classmethod
    def empty(cls, rows: CompiledRows, s: int, n: int, before: int, after: int = 0) -> Found:
        """Return the arrays for S, n, H and H', which is H if it is 0."""
        after, size = after or before, rows.kept[1] - rows.kept[0]
        return cls(
            np.empty((s, n, before * rows.outputs)),
            np.zeros((s, n, after)),
            np.empty((s, n, after, size)),
        )

    def predictive(self, rows: CompiledRows, log_weights: np.ndarray) -> Predictive:
        """Return the predictions with each row as a repetition of its own, [S n, H, 1, ...]."""
        return rows.predictive(log_weights, self.out.reshape(*log_weights.shape, 1, rows.outputs))


def pack(layout: Mapping[str, tuple[int, ...]], state: State) -> np.ndarray:
    """Return the arrays of a state in the order of the layout, [S, H, P].

    layout: the shapes by name, without seed and hypothesis.
    """
    size = next(iter(state.values())).shape[:2]
    packed = np.concatenate([state[name].reshape(*size, -1) for name in layout], axis=2)
    return plain(packed)


def unpack(layout: Mapping[str, tuple[int, ...]], packed: np.ndarray) -> State:
    """Return the state from the array of `pack`."""
    size, found, end = packed.shape[:2], {}, 0
    for name, shape in layout.items():
        first, end = end, end + math.prod(shape)
        found[name] = packed[:, :, first:end].reshape(*size, *shape)
    return found


def gaussian(log_weights: np.ndarray, out: np.ndarray) -> Gaussian:
    """Return the prediction from the means of all targets and then their variances."""
    d = out.shape[-1] // 2
    return Gaussian(log_weights, out[..., :d].copy(), out[..., d:].copy())


widened = njit(cache=True, error_model="numpy")(mean_field_gaussian.widened)
"""`mean_field_gaussian.widened`, compiled for numbers."""


@njit(cache=True, error_model="numpy")
def _predict(predict, packed, data, out):
    """Run the loop of `predict`."""
    for s in range(data.x.shape[0]):
        for i in range(data.x.shape[1]):
            given = data.x[s, i], data.nothing, data.constants, data.scratch, out[s, i]
            call(predict, (packed[s], *given))


@njit(cache=True, error_model="numpy")
def _learn(step, packed, data, constants, evidence):
    """Run the loop of `learn`, in place."""
    for s in range(data.y.shape[0]):
        for i in range(data.y.shape[1]):
            if data.seen[s, i]:
                given = data.x[s, i], data.y[s, i], constants[s], data.scratch, evidence[s]
                call(step, (packed[s], *given))


@njit(cache=True, error_model="numpy")
def _broaden(broaden, packed, widening, data, refused):
    """Run the loop of `broaden`, in place."""
    for s in range(packed.shape[0]):
        given = widening, data.nothing, data.constants, data.scratch, refused[s]
        call(broaden, (packed[s], *given))


@njit(cache=True, error_model="numpy")
def _run(functions, packed, data, drift, places, drift_first, found):
    """Run the loop of `run`, in place; return whether a hypothesis could not be widened."""
    predict, step, broaden = functions
    first, last, sums = places
    nothing, constants, scratch = data.nothing, data.constants, data.scratch
    refused = np.zeros(packed.shape[1])
    for s in range(data.y.shape[0]):
        numbers = packed[s]
        for i in range(data.y.shape[1]):
            x, out = data.x[s, i], found.out[s, i]
            if not drift_first:
                call(predict, (numbers, x, nothing, constants, scratch, out))
            if len(drift.home):
                numbers[:] = drift.home[s]
            if len(drift.widening) and drift.done + i > 0:
                call(broaden, (numbers, drift.widening, nothing, constants, scratch, refused))
                if refused.any():
                    return True
            if drift_first:
                call(predict, (numbers, x, nothing, constants, scratch, out))
            numbers[:, sums:] = 0.0
            if data.seen[s, i]:
                evidence = found.evidence[s, i]
                call(step, (numbers, x, data.y[s, i], constants, scratch, evidence))
            found.kept[s, i] = numbers[:, first:last]
    return False

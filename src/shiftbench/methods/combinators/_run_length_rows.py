"""Run lengths over rows: the compiled loop over the rows of a task, or over tasks of one row."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from shiftbench.core.interface import Batch, Block, Info, State, part, prefixed
from shiftbench.methods.combinators._log_weights import normalise
from shiftbench.methods.combinators._run_length_rule import OWN, fresh_log_joint, settle
from shiftbench.methods.online.row_functions import call
from shiftbench.methods.online.rows import CompiledRows, Data, Predicted


class _Slots(NamedTuple):
    """Slots [S, K + M, ...] for compiled code, or those of one repetition; changed in place.

    order: the slots, the best K first and then those that are free or fresh.
    """

    packed: np.ndarray
    run_length: np.ndarray
    model: np.ndarray
    log_joint: np.ndarray
    map_log_joint: np.ndarray
    order: np.ndarray


class _Found(NamedTuple):
    """Results of the loop at each row of a block; empty for rows of one task.

    out: [S, n, H, O], log_weights: [S, n, H], of the predictions. The arrays OWN after the row, [S,
    n, K], where log_joint is normalised.
    """

    out: np.ndarray
    log_weights: np.ndarray
    run_length: np.ndarray
    model: np.ndarray
    log_joint: np.ndarray
    map_log_joint: np.ndarray

    @classmethod
    def empty(cls, s: int, n: int, before: int, keep: int, outputs: int) -> _Found:
        """Return the arrays to fill; with n = 0 for the rows of a task."""
        own = (np.empty((s, n, keep), kind) for kind in (np.int64, np.int64, float, float))
        return cls(np.empty((s, n, before, outputs)), np.empty((s, n, before)), *own)


def observe(
    rows: CompiledRows, state: State, home: State, batch: Batch, keep: int, odds: float
) -> State:
    """Return the slots after each row of a task as an observation; the first ones are in place."""
    x, y = rows.check(batch)
    slots = _slots(rows, state, 0)
    found = _Found.empty(len(y), 0, 0, keep, rows.outputs)
    data = Data.of(rows, x, y, batch.mask)
    _run(rows.addresses, slots, rows.pack(home), data, (keep, odds), False, found)
    return _state(rows, slots, keep)


class _Open(NamedTuple):
    """The arrays between the rows of a block: slots, fresh segments [S, M, P], and home.*."""

    slots: _Slots
    fresh: np.ndarray
    home: State


def block(rows: CompiledRows, init: Callable[[np.ndarray], State], keep: int, odds: float) -> Block:
    """Return the function that learns rows which are tasks; see `Learner.block`."""
    return Block(
        partial(_opened, rows, init),
        partial(_advance, rows, (keep, odds)),
        lambda own: prefixed(own.home, "home.") | _state(rows, own.slots, keep),
    )


def _opened(rows: CompiledRows, init: Callable[[np.ndarray], State], state: State) -> _Open:
    home, s = part(state, "home."), len(state["log_joint"])
    fresh = rows.pack(home or init(np.zeros((s, 2), np.int32)))
    return _Open(_slots(rows, state, fresh.shape[1]), fresh, home)


def _advance(
    rows: CompiledRows, how: tuple[int, float], own: _Open, batch: Batch, drift_first: bool
) -> tuple[_Open, Predicted, Info]:
    """Predict and learn n rows, in place. how: keep and odds."""
    (x, y), keep = rows.check(batch), how[0]
    s, n = y.shape[:2]
    before = keep + own.fresh.shape[1] if drift_first else keep
    found = _Found.empty(s, n, before, keep, rows.outputs)
    data = Data.of(rows, x, y, batch.mask)
    _run(rows.addresses, own.slots, own.fresh, data, how, drift_first, found)
    weights, out = found.log_weights.reshape(s * n, before), found.out
    predicted = partial(rows.predictive, weights, out.reshape(s * n, before, 1, rows.outputs))
    info = {name: getattr(found, name) for name in ("run_length", "model", "map_log_joint")}
    return own, predicted, info | {"log_weight": found.log_joint}


def _slots(rows: CompiledRows, state: State, free: int) -> _Slots:
    """Return the slots of a state and some free ones, for compiled code."""
    arrays = [rows.pack(part(state, "base.")), *(state[name] for name in OWN)]
    more = [np.repeat(array[:, :1], free, axis=1) for array in arrays]
    for log_joint in more[3:]:
        log_joint[:] = -np.inf
    packed, *own = (np.concatenate(both, axis=1) for both in zip(arrays, more, strict=True))
    order = np.tile(np.arange(packed.shape[1]), (len(packed), 1))
    run_length, model, log_joint, map_log_joint = own
    return _Slots(packed, run_length, model, log_joint, map_log_joint, order)


def _state(rows: CompiledRows, slots: _Slots, keep: int) -> State:
    """Return the state of the best slots."""
    kept = np.arange(len(slots.order))[:, None], slots.order[:, :keep]
    arrays = {name: array[kept] for name, array in slots._asdict().items() if name != "order"}
    return prefixed(rows.unpack(arrays.pop("packed")), "base.") | arrays


class Singly:
    """Run lengths of one repetition whose rows come one by one, without a state between them.

    It gives the results of `block` with the drift first, in a tenth of the time of such a call.
    """

    def __init__(
        self, rows: CompiledRows, state: State, home: State, keep: int, odds: float
    ) -> None:
        fresh = rows.pack(home)[0]
        self._rows, self._keep, self._odds = rows, keep, float(odds)
        self._all = _slots(rows, state, len(fresh))
        own = _Slots(*(array[0] for array in self._all))
        size = len(own.order)
        self.predictions = np.empty((size, rows.outputs))
        self.log_weights = np.empty(size)
        predict, step, _ = (int(address) for address in rows.addresses)
        work = np.empty(rows.scratch), np.empty(size * rows.outputs), np.empty(size)
        scratch, out, evidence = work
        noted = np.empty(0), out, self.predictions, self.log_weights
        given = predict, keep, self._odds, *own, fresh, rows.constants, scratch
        self._predict: tuple[Any, ...] = *given, *noted
        self._learn: tuple[Any, ...] = step, keep, *own, rows.constants, scratch, evidence

    def predict(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return predictions [H, outputs] and log weights [H]; the next call overwrites both.

        x: the flat inputs of a row, see `CompiledRows.features`.
        """
        self._x = x
        _predict_single(x, *self._predict)
        return self.predictions, self.log_weights

    def learn(self, y: np.ndarray) -> None:
        """Learn the targets [d] of the row that was predicted last."""
        _learn_single(self._x, y, *self._learn)

    @property
    def state(self) -> State:
        """The state after the last row, as that of `run_length`."""
        return _state(self._rows, self._all, self._keep)


@njit(cache=True, error_model="numpy")
def _predict_single(
    x, predict, keep, odds, packed, run_length, model, log_joint, map_log_joint, order, fresh,
    constants, scratch, nothing, out, noted, log_weights,
):  # fmt: skip
    """Run `Singly.predict`."""
    own = _Slots(packed, run_length, model, log_joint, map_log_joint, order)
    _start_segments(fresh, odds, own, keep)
    call(predict, (packed, x, nothing, constants, scratch, out))
    _note_prediction(own, out, noted, log_weights)


@njit(cache=True, error_model="numpy")
def _learn_single(
    x, y, step, keep, packed, run_length, model, log_joint, map_log_joint, order, constants,
    scratch, evidence,
):  # fmt: skip
    """Run `Singly.learn`."""
    own = _Slots(packed, run_length, model, log_joint, map_log_joint, order)
    _learn_row(step, own, x, y, constants, scratch, evidence, keep)


@njit(cache=True, error_model="numpy")
def _run(functions, slots, fresh, data, how, drift_first, found):
    """Run the recursion over all rows, in place; `found` is filled if each row is a task."""
    predict, step, _ = functions
    keep, odds = how
    nothing, constants, scratch = data.nothing, data.constants, data.scratch
    size, tasks = slots.log_joint.shape[1], found.out.shape[1] > 0
    evidence, out = np.empty(size), np.empty(size * found.out.shape[3])
    for s in range(data.y.shape[0]):
        own = _Slots(slots.packed[s], slots.run_length[s], slots.model[s], slots.log_joint[s],
                     slots.map_log_joint[s], slots.order[s])  # fmt: skip
        started = tasks
        for i in range(data.y.shape[1]):
            x, seen = data.x[s, i], data.seen[s, i]
            if tasks and not drift_first:
                call(predict, (own.packed, x, nothing, constants, scratch, out))
                _note_prediction(own, out, found.out[s, i], found.log_weights[s, i])
            if started and (tasks or seen):
                _start_segments(fresh[s], odds, own, keep)
            if tasks and drift_first:
                call(predict, (own.packed, x, nothing, constants, scratch, out))
                _note_prediction(own, out, found.out[s, i], found.log_weights[s, i])
            if seen:
                started = True
                _learn_row(step, own, x, data.y[s, i], constants, scratch, evidence, keep)
            elif tasks:
                _pass_task(own, keep)
            if tasks:
                _note_slots(own, found.run_length[s, i], found.model[s, i],
                            found.log_joint[s, i], found.map_log_joint[s, i])  # fmt: skip


@njit(cache=True, error_model="numpy")
def _learn_row(step, slots, x, y, constants, scratch, evidence, keep):
    """Update all slots by a row, in place, and keep the best."""
    for k in range(len(evidence)):
        evidence[k] = 0.0 if slots.log_joint[k] > -np.inf else -np.inf
    call(step, (slots.packed, x, y, constants, scratch, evidence))
    for k in range(len(evidence)):
        slots.log_joint[k] += evidence[k]
        slots.map_log_joint[k] += evidence[k]
        slots.run_length[k] += 1
    settle(slots.log_joint, slots.map_log_joint, slots.order, keep)


@njit(cache=True, error_model="numpy")
def _pass_task(slots, keep):
    """Lengthen all segments by a task without a row, in place, and drop the fresh ones."""
    for k in slots.order[keep:]:
        slots.log_joint[k] = slots.map_log_joint[k] = -np.inf
    for k in slots.order[:keep]:
        slots.run_length[k] += slots.log_joint[k] > -np.inf


@njit(cache=True, error_model="numpy")
def _start_segments(fresh, odds, slots, keep):
    """Put a fresh learner of each model into the slots after the first `keep`, in place."""
    joint, best = fresh_log_joint(slots.map_log_joint, len(fresh), odds)
    for m in range(len(fresh)):
        k = slots.order[keep + m]
        for j in range(fresh.shape[1]):
            slots.packed[k, j] = fresh[m, j]
        slots.run_length[k], slots.model[k] = -1, m
        slots.log_joint[k], slots.map_log_joint[k] = joint, best


@njit(cache=True, error_model="numpy")
def _note_prediction(slots, out, noted, log_weights):
    """Note the predictions of the first slots and their normalised log weights, in order."""
    size = noted.shape[1]
    for place in range(len(noted)):
        k = slots.order[place]
        log_weights[place] = slots.log_joint[k]
        for j in range(size):
            noted[place, j] = out[k * size + j]
    if log_weights.max() == -np.inf:  # before the first observation all predict from the prior
        log_weights[:] = 0.0
    normalise(log_weights)


@njit(cache=True, error_model="numpy")
def _note_slots(slots, run_length, model, log_joint, map_log_joint):
    """Note the arrays OWN of the first slots, in order; log_joint is normalised."""
    for place in range(len(run_length)):
        k = slots.order[place]
        run_length[place], model[place] = slots.run_length[k], slots.model[k]
        log_joint[place], map_log_joint[place] = slots.log_joint[k], slots.map_log_joint[k]
    normalise(log_joint)

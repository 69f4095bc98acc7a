"""A beam over rows, each of them a task: the compiled loop over a block of rows."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numba import njit

from shiftbench.core.interface import (
    Batch,
    Block,
    Info,
    LearnerError,
    State,
    part,
    prefixed,
)
from shiftbench.methods.combinators._beam_rule import Rule, set_log_prior, weigh
from shiftbench.methods.combinators._log_weights import normalise, relate_to_largest
from shiftbench.methods.combinators._truncation import select
from shiftbench.methods.online.row_functions import call
from shiftbench.methods.online.rows import CompiledRows, Data, Found, Predicted


class _Slots(NamedTuple):
    """The 2 K children of each repetition, [S, 2 K, ...]; the first K are the beam between tasks.

    step: the number of tasks before the block, [S, 1].
    """

    packed: np.ndarray
    log_weight: np.ndarray
    shifts: np.ndarray
    step: np.ndarray


class _Decisions(NamedTuple):
    """The log weights of the predictions [S, n, H], the children kept and their log weights."""

    before: np.ndarray
    kept: np.ndarray
    log_weight: np.ndarray


def block(rows: CompiledRows, rule: Rule, widening: np.ndarray) -> Block:
    """Return the function that learns rows which are tasks; see `Learner.block`.

    widening: of `rows.widening`. The state is that of `beam`.
    """
    return Block(
        partial(_opened, rows, rule),
        partial(_advance, rows, rule, widening),
        partial(_closed, rows, rule.size),
    )


def _opened(rows: CompiledRows, rule: Rule, state: State) -> _Slots:
    packed = rows.pack(part(state, "base."))
    if packed.shape[1] != rule.size:
        raise LearnerError("a beam over several models has no blocks of rows")
    # The children with s = 1 are set before they are used.
    beam = (packed, state["log_weight"], state["shifts"])
    packed, log_weight, shifts = (np.concatenate([a, a], axis=1) for a in beam)
    return _Slots(packed, log_weight, shifts, state["step"])


def _advance(
    rows: CompiledRows,
    rule: Rule,
    widening: np.ndarray,
    before: _Slots,
    batch: Batch,
    drift_first: bool,
) -> tuple[_Slots, Predicted, Info]:
    """Predict and learn n rows. Raises ArithmeticError if a hypothesis cannot be widened."""
    (x, y), k = rows.check(batch), rule.size
    (s, n), h = y.shape[:2], 2 * k if drift_first else k
    slots = _Slots(*(array.copy() for array in before))
    found = Found.empty(rows, s, n, h, k)
    decisions = _Decisions(np.empty((s, n, h)), np.empty((s, n, k), np.int64), np.empty((s, n, k)))
    data, places = Data.of(rows, x, y, batch.mask), rows.places(slots.packed)
    if _run(rows.addresses, rule, slots, data, widening, places, drift_first, found, decisions):
        raise ArithmeticError("a hypothesis cannot be widened")
    slots.step[:] += n
    info = rows.info(found.kept, found.evidence) | {
        "parent": decisions.kept % k,
        "shift": decisions.kept // k,
        "log_weight": decisions.log_weight,
    }
    return slots, partial(found.predictive, rows, decisions.before.reshape(s * n, h)), info


def _closed(rows: CompiledRows, k: int, slots: _Slots) -> State:
    after = {
        "log_weight": slots.log_weight[:, :k].copy(),
        "shifts": slots.shifts[:, :k].copy(),
        "step": slots.step.copy(),
    }
    return after | prefixed(rows.unpack(slots.packed[:, :k].copy()), "base.")


@njit(cache=True, error_model="numpy")
def _run(functions, rule, slots, data, widening, places, drift_first, found, decisions):
    """Run the loop of `_advance`, in place; return whether a hypothesis could not be widened."""
    predict, step, broaden = functions
    sums, k, step_before = places[2], rule.size, slots.step.max()
    nothing, constants, scratch = data.nothing, data.constants, data.scratch
    log_prior, evidence, refused = np.empty(2 * k), np.empty(2 * k), np.zeros(k)
    work = np.empty((k, slots.packed.shape[2])), np.empty(k), np.empty(k, np.int64)
    for s in range(data.y.shape[0]):
        numbers, log_weight, shifts = slots.packed[s], slots.log_weight[s], slots.shifts[s]
        for i in range(data.y.shape[1]):
            x, out, before = data.x[s, i], found.out[s, i], decisions.before[s, i]
            tasks = step_before + i
            if not drift_first:
                call(predict, (numbers[:k], x, nothing, constants, scratch, out))
                before[:] = log_weight[:k]
            _split(numbers, log_weight, shifts, tasks)
            call(broaden, (numbers[k:], widening, nothing, constants, scratch, refused))
            if refused.any():
                return True
            set_log_prior(rule, shifts, tasks, log_prior)
            if drift_first:
                call(predict, (numbers, x, nothing, constants, scratch, out))
                before[:] = log_weight + log_prior
            normalise(before)
            numbers[:, sums:] = 0.0
            evidence[:] = 0.0
            if tasks == 0:  # there is one hypothesis, and all slots get its result
                evidence[1:] = -np.inf
            if data.seen[s, i]:
                call(step, (numbers, x, data.y[s, i], constants, scratch, evidence))
            if tasks == 0:
                numbers[1:], evidence[1:] = numbers[0], evidence[0]
            weigh(rule, log_weight, log_prior, tasks, evidence, np.int64(data.seen[s, i]))
            kept = decisions.kept[s, i]
            select(log_weight, rule.survivors, kept)
            _keep(kept, numbers, log_weight, shifts, *work)
            if rule.bayes:
                relate_to_largest(log_weight[:k])
            for j in range(k):
                found.evidence[s, i, j] = evidence[kept[j]]
                found.kept[s, i, j] = numbers[j, places[0] : places[1]]
            decisions.log_weight[s, i] = log_weight[:k]
            normalise(decisions.log_weight[s, i])
    return False


@njit(cache=True, error_model="numpy")
def _split(numbers, log_weight, shifts, tasks):
    """Copy the beam [K] to its children with s = 1; before task 0 there are none."""
    k = len(numbers) // 2
    for j in range(k):
        numbers[k + j] = numbers[j]
        log_weight[k + j] = log_weight[j] if tasks > 0 else -np.inf
        shifts[k + j] = shifts[j] + 1


@njit(cache=True, error_model="numpy")
def _keep(kept, numbers, log_weight, shifts, new_numbers, new_weight, new_shifts):
    """Move the children that are kept to the first slots; the last three are working arrays."""
    k = len(kept)
    for j in range(k):
        child = kept[j]
        new_numbers[j] = numbers[child]
        new_weight[j], new_shifts[j] = log_weight[child], shifts[child]
    numbers[:k], log_weight[:k], shifts[:k] = new_numbers, new_weight, new_shifts

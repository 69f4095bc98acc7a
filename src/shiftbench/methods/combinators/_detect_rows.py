"""Drift detection over rows that are tasks: blocks of the learner inside, up to the next alarm.

The learner's block runs ahead as if no alarm came. Its predictions give the signal. At the first
alarm it is run again up to the row before, starts again, and learns the row of the alarm. It runs
ahead of AHEAD rows after an alarm, and of twice as many after each run without one. So most rows
are learnt two or three times, for any learner with blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from shiftbench.core.interface import Batch, Info, Learner, Predictive, State, part, prefixed
from shiftbench.methods.combinators.ensemble import OF_ONE_HISTORY
from shiftbench.methods.detectors import signals
from shiftbench.methods.detectors.detector import Detector, watch

AHEAD = 32
NO_SEEDS = np.zeros((1, 2), np.int32)
"""For learners with blocks, which draw nothing."""


class Parts(NamedTuple):
    """The learner inside and its block, what watches it, and `started` of `detect`."""

    learner: Learner
    block: Callable[[State, Batch, bool], tuple[State, Predictive, Info]]
    detector: Detector
    signal: signals.Kind
    started: Callable[[State, State, np.ndarray, np.ndarray], State]


class _Found(NamedTuple):
    """The state after consecutive rows of one repetition; their predictions and infos."""

    state: State
    predictive: Predictive
    info: Info


def decided(info: Info, fired: np.ndarray, statistic: np.ndarray) -> Info:
    """Return the Info of `detect`: the learner's, and the alarms and statistics [S, ..., 1]."""
    kept = {k: a for k, a in info.items() if k not in OF_ONE_HISTORY}
    if any(a.shape[fired.ndim - 1] != 1 for a in kept.values()):
        kept = {}
    shift = fired.astype(np.int64)
    return kept | {
        "shift": shift,
        "parent": np.zeros_like(shift),
        "log_weight": np.zeros(shift.shape),
        "alarm_statistic": statistic,
    }


def block(
    parts: Parts, state: State, batch: Batch, drift_first: bool
) -> tuple[State, Predictive, Info]:
    """Predict and learn n rows, each of them a task; see `Learner.block`."""
    found = []
    for s in range(len(batch.mask)):
        own = {name: array[s : s + 1] for name, array in state.items()}
        rows = Batch(*(array[s : s + 1] for array in batch))
        found.append(_joined(list(_segments(parts, own, rows, drift_first)), axis=1))
    both = _joined(found, axis=0)
    return both._replace(state=_concatenated([one.state for one in found], axis=0))


def _segments(parts: Parts, state: State, rows: Batch, drift_first: bool) -> Iterator[_Found]:
    """Yield what is found in runs ahead, each up to an alarm, of one repetition."""
    done, ahead, n = 0, AHEAD, rows.mask.shape[1]
    while done < n:
        found, fired = _ahead(parts, state, _cut(rows, done, done + ahead), drift_first)
        state, size = found.state, found.info["shift"].shape[1]
        done, ahead = done + size, AHEAD if fired else 2 * ahead
        yield found


def _ahead(parts: Parts, state: State, rows: Batch, drift_first: bool) -> tuple[_Found, bool]:
    """Predict and learn rows up to the first alarm; return whether there was one."""
    learner, base, home = parts.learner, part(state, "base."), part(state, "home.")
    after, predictive, info = parts.block(base, rows, drift_first)
    watched_by = predictive
    if not drift_first and learner.drift is not Learner.drift:
        # `observe` predicts from the state that has drifted.
        _, watched_by, _ = parts.block(base, rows, True)
    values = _signal(parts, watched_by, rows)
    det, found = watch(parts.detector, part(state, "det."), values, rows.mask)
    row, fired = int(found.row[0]), bool(found.row[0] >= 0)
    size = row + 1 if fired else rows.mask.shape[1]
    if fired:
        after, of_row = _started_again(parts, base, home, _cut(rows, 0, size), drift_first)
        info = {
            k: np.concatenate([a[:, :row], of_row[k][:, None]], axis=1) for k, a in info.items()
        }
        seen = {k: a[:size] for k, a in predictive._asdict().items() if a is not None}
        predictive = predictive._replace(**seen)
    statistic = np.maximum(found.statistic[:, :size, None], 0.0)
    shift = (np.arange(size) == row)[None, :, None]
    own = prefixed(home, "home.") | prefixed(det, "det.")
    after = prefixed(after, "base.") | own
    return _Found(after, predictive, decided(info, shift, statistic)), fired


def _started_again(
    parts: Parts, base: State, home: State, rows: Batch, drift_first: bool
) -> tuple[State, Info]:
    """Return state and Info after rows of which the last one raised the alarm."""
    last = rows.mask.shape[1] - 1
    if last > 0:
        base, _, _ = parts.block(base, _cut(rows, 0, last), drift_first)
    base = parts.learner.drift(base, NO_SEEDS)
    base = parts.started(base, home, np.ones(1, bool), NO_SEEDS)
    return parts.learner.observe(base, _cut(rows, last, last + 1), NO_SEEDS)


def _signal(parts: Parts, predictive: Predictive, rows: Batch) -> np.ndarray:
    """Return the signal [1, n] of rows [1, n], which predictions have as repetitions [n, H, 1]."""
    each = Batch(*(array.swapaxes(0, 1) for array in rows))
    return signals.of(parts.signal, predictive, each).T


def _cut(rows: Batch, first: int, last: int) -> Batch:
    return Batch(*(array[:, first:last] for array in rows))


def _joined(found: Sequence[_Found], axis: int) -> _Found:
    """Join what is found in rows that follow each other (axis 1), or in repetitions (axis 0)."""
    first = found[0].predictive
    fields = {
        name: np.concatenate([getattr(one.predictive, name) for one in found])
        for name, array in first._asdict().items()
        if array is not None
    }
    info = _concatenated([one.info for one in found], axis)
    return _Found(found[-1].state, first._replace(**fields), info)


def _concatenated(parts: Sequence[dict[str, np.ndarray]], axis: int) -> dict[str, np.ndarray]:
    return {name: np.concatenate([one[name] for one in parts], axis) for name in parts[0]}

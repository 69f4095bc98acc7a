"""Checkpoints of the loops within a task, so that a task of hours can be stopped and resumed.

A learner's loops report their state to the monitor of their task, which also says where they
begin. A loop is identified by the order in which loops begin, which is the same in each attempt.
Without a monitor loops begin at the start, and nothing is saved.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

log = logging.getLogger("shiftbench")

SECONDS_BETWEEN_POLLS = 2.0
SECONDS_BETWEEN_CHECKPOINTS = 20.0
SHARE_OF_CHECKPOINTS = 0.05
"""The most time that checkpoints may take: after one of two seconds the next is due in 40."""
SECONDS_WORTH_KEEPING = 1.0
"""A loop that ended sooner runs again when its task is resumed."""
NEVER = 2**31 - 1
"""The steps until a poll where no monitor waits for it."""


class Interrupted(Exception):
    """The task must stop; the monitor has the states of its loops."""


class LoopState(NamedTuple):
    """The state of a loop: the epoch and the step in it that come next, and its arrays."""

    epoch: int
    step: int
    arrays: tuple[np.ndarray, ...]


LoopStates = dict[int, LoopState]
"""The states of loops by their numbers."""


class PollInterval:
    """The number of steps between two polls: one at first, then as many as take 2 seconds."""

    def __init__(self) -> None:
        self.steps = 1
        self._since = 0.0

    def begin(self) -> int:
        """Return the steps until the first poll of a loop that begins now."""
        self._since = time.monotonic()
        return self.steps

    def next(self) -> int:
        """Return the steps until the next poll, from the time that the last ones took."""
        now = time.monotonic()
        share = SECONDS_BETWEEN_POLLS / max(now - self._since, 1e-6)
        # At most doubled, since the first steps may have waited for others.
        self.steps = max(1, int(self.steps * min(share, 2.0)))
        self._since = now
        return self.steps


class LoopMonitor:
    """Saves and interrupts the loops of one task.

    states: of loops that are under way or have ended; at first those of an earlier attempt.
    save: writes a checkpoint. stop_reason: returns why the task must stop, or an empty string.
    interval: shared by all tasks of the run.
    """

    def __init__(
        self,
        states: LoopStates,
        save: Callable[[], None],
        stop_reason: Callable[[], str],
        interval: PollInterval,
    ) -> None:
        self.states, self.interval = states, interval
        self._save, self._stop_reason = save, stop_reason
        self._begun: dict[int, float] = {}
        self._due = time.monotonic() + SECONDS_BETWEEN_CHECKPOINTS

    def begin(self, arrays: tuple[np.ndarray, ...]) -> tuple[int, LoopState]:
        """Return the number and the first state of a loop that begins with these arrays."""
        number = len(self._begun)
        self._begun[number] = time.monotonic()
        return number, self.states.get(number) or LoopState(0, 0, arrays)

    def poll(self, number: int, state: LoopState) -> None:
        """Save the state of loop `number` of the task if due; raise Interrupted to stop it."""
        must_stop = bool(self._stop_reason())
        if not must_stop and time.monotonic() < self._due:
            return
        self.states[number] = _copy(state)
        if must_stop:
            raise Interrupted
        begun = time.monotonic()
        self._save()
        pause = (time.monotonic() - begun) / SHARE_OF_CHECKPOINTS
        self._due = begun + max(SECONDS_BETWEEN_CHECKPOINTS, pause)

    def end(self, number: int, state: LoopState) -> None:
        """Keep the last state of a loop, if it took long."""
        took_long = time.monotonic() - self._begun[number] > SECONDS_WORTH_KEEPING
        if took_long or number in self.states:
            self.states[number] = _copy(state)


_monitors: list[LoopMonitor] = []


@contextmanager
def monitored(monitor: LoopMonitor) -> Iterator[None]:
    """Monitor the loops that run in this block."""
    _monitors.append(monitor)
    try:
        yield
    finally:
        _monitors.remove(monitor)


def begin(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Begin a loop: return its number, epoch, step and steps until a poll, then its arrays."""
    number, state, steps = 0, LoopState(0, 0, arrays), NEVER
    if _monitors:
        number, state = _monitors[-1].begin(arrays)
        steps = _monitors[-1].interval.begin()
    counts = (number, state.epoch, state.step, steps)
    return (*(np.asarray(count, np.int32) for count in counts), *state.arrays)


def poll(number: np.ndarray, epoch: np.ndarray, step: np.ndarray, *arrays: np.ndarray) -> np.int32:
    """Return the steps until the next poll. Raises Interrupted if the task must stop."""
    monitor = _monitors[-1]
    monitor.poll(int(number), LoopState(int(epoch), int(step), arrays))
    return np.int32(monitor.interval.next())


def end(number: np.ndarray, epoch: np.ndarray, step: np.ndarray, *arrays: np.ndarray) -> np.int32:
    """Report the end of a loop; the result 0 only satisfies TensorFlow."""
    if _monitors:
        _monitors[-1].end(int(number), LoopState(int(epoch), int(step), arrays))
    return np.int32(0)


def _copy(state: LoopState) -> LoopState:
    """Return the state with copies of its arrays, whose memory the loop goes on to use."""
    return state._replace(arrays=tuple(np.array(array) for array in state.arrays))

"""Checkpoints of the loops within a task, so that a task of hours can be stopped and resumed.

A learner's loops report their state to the monitor of their task, which also says where they
begin. A loop is identified by the order in which loops begin, which is the same in each attempt.
Without a monitor loops begin at the start, and nothing is saved.

A look (`look`) ends the loops of a task after a share of their steps, so that the learner can be
judged before the end of the task. At the next look the first loop continues where it ended, so that
each of its steps is done once. Later loops depend on its result and run again at each look.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from shiftbench.core.errors import UserError

log = logging.getLogger("shiftbench")

SECONDS_BETWEEN_POLLS = 2.0
SECONDS_BETWEEN_CHECKPOINTS = 20.0
SHARE_OF_CHECKPOINTS = 0.05
"""The most time that checkpoints may take: after one of two seconds the next is due in 40."""
SECONDS_WORTH_KEEPING = 1.0
"""A loop that ended sooner runs again when its task is resumed."""
NEVER = 2**31 - 1
"""Steps until the next poll without a monitor; last epoch of a loop that no look ends."""
WHOLE = Fraction(1)
"""Share of the steps of a task that is run to its end, without a look."""


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
        self.states, self.interval, self.share = states, interval, WHOLE
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
        """Keep the last state of a loop that took long or continues at the next look."""
        took_long = time.monotonic() - self._begun[number] > SECONDS_WORTH_KEEPING
        goes_on = self.share < WHOLE and number == 0
        if took_long or goes_on or number in self.states:
            self.states[number] = _copy(state)

    def leave(self) -> None:
        """Prepare the loops for the next look: the first one continues, later ones begin again.

        A signal may come between any two of these lines, since a look that is interrupted and
        repeated ends in the same states. UserError if there was no loop.
        """
        if not self._begun:
            raise UserError(
                "looks: a learner has no loop over steps that a look could end; take `looks` out of"
                " the study, or this method"
            )
        for number in [number for number in self.states if number > 0]:
            del self.states[number]
        self._begun.clear()


_monitors: list[LoopMonitor] = []


@contextmanager
def monitored(monitor: LoopMonitor) -> Iterator[None]:
    """Monitor the loops that run in this block."""
    _monitors.append(monitor)
    try:
        yield
    finally:
        _monitors.remove(monitor)


@contextmanager
def look(share: Fraction) -> Iterator[None]:
    """End the loops that run in this block after a share of their steps, rounded up.

    For the code that runs a task in `monitored`. UserError if no loop runs in the block.
    """
    with _shortened(share):
        yield
    _monitors[-1].leave()


@contextmanager
def whole() -> Iterator[None]:
    """Run the loops in this block to their end, whatever look is under way.

    For loops of a prediction, such as those that tune a copy of a learner on a coreset.
    """
    with _shortened(WHOLE):
        yield


@contextmanager
def _shortened(share: Fraction) -> Iterator[None]:
    if not _monitors:
        yield
        return
    monitor, before = _monitors[-1], _monitors[-1].share
    monitor.share = share
    try:
        yield
    finally:
        monitor.share = before


def begin(epochs: np.ndarray, steps: np.ndarray, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Begin a loop of at most `epochs` epochs of `steps` steps each.

    Returns its number, its epoch and step, the steps until a poll, the epoch and the step in it at
    which a look ends the loop, then its arrays.
    """
    number, state, left, until = 0, LoopState(0, 0, arrays), NEVER, (NEVER, 0)
    if _monitors:
        monitor = _monitors[-1]
        number, state = monitor.begin(arrays)
        left = monitor.interval.begin()
        if monitor.share < WHOLE:
            until = divmod(math.ceil(monitor.share * int(epochs) * int(steps)), max(int(steps), 1))
    counts = (number, state.epoch, state.step, left, *until)
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

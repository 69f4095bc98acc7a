"""Where the loops of a learner stand within a task, so that a task of hours can be stopped.

A learner's loops tell the watch of their task where they are, and ask it where to begin. They
are known by the order in which they begin, which is the same in each attempt. Without a watch
they begin at the start, and nothing is kept.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

log = logging.getLogger("shiftbench")

SECONDS_BETWEEN_LOOKS = 2.0
SECONDS_BETWEEN_CHECKPOINTS = 20.0
SHARE_OF_CHECKPOINTS = 0.05
"""A checkpoint that took two seconds is next made in 40."""
SECONDS_WORTH_KEEPING = 1.0
"""A loop that ended sooner runs again when the task does."""
NEVER = 2**31 - 1
"""Steps until a look that nobody waits for."""


class Interrupted(Exception):
    """The task is to stop; where it stands is in the watch."""


class Standing(NamedTuple):
    """Where a loop stands: its epoch and the step in it that come next, and its arrays."""

    epoch: int
    step: int
    arrays: tuple[np.ndarray, ...]


Standings = dict[int, Standing]
"""By the number of the loop."""


class Pace:
    """How many steps are done between two looks: one at first, then so many as take 2 seconds."""

    def __init__(self) -> None:
        self.steps = 1
        self._since = 0.0

    def begin(self) -> int:
        """The steps until the first look at a loop that begins now."""
        self._since = time.monotonic()
        return self.steps

    def next(self) -> int:
        """The steps until the next look, now that those until this one are done."""
        now = time.monotonic()
        share = SECONDS_BETWEEN_LOOKS / max(now - self._since, 1e-6)
        # At most twice as many, since the first steps may be waiting for others.
        self.steps = max(1, int(self.steps * min(share, 2.0)))
        self._since = now
        return self.steps


class Watch:
    """Looks after the loops of one task.

    standings: where loops stand or stood at their end; at first, where an earlier attempt left
    them. keep: saves them. stops: why the task is to stop, if it is. pace: of the run.
    """

    def __init__(
        self,
        standings: Standings,
        keep: Callable[[], None],
        stops: Callable[[], str],
        pace: Pace,
    ) -> None:
        self.standings, self.pace = standings, pace
        self._keep, self._stops = keep, stops
        self._begun: dict[int, float] = {}
        self._due = time.monotonic() + SECONDS_BETWEEN_CHECKPOINTS

    def begin(self, arrays: tuple[np.ndarray, ...]) -> tuple[int, Standing]:
        """The number of a loop that begins now, and where it does."""
        number = len(self._begun)
        self._begun[number] = time.monotonic()
        return number, self.standings.get(number) or Standing(0, 0, arrays)

    def look(self, number: int, standing: Standing) -> None:
        """Keeps where a loop stands if it is time to. Interrupted if the task is to stop."""
        stops = bool(self._stops())
        if not stops and time.monotonic() < self._due:
            return
        self.standings[number] = _copy(standing)
        if stops:
            raise Interrupted
        begun = time.monotonic()
        self._keep()
        pause = (time.monotonic() - begun) / SHARE_OF_CHECKPOINTS
        self._due = begun + max(SECONDS_BETWEEN_CHECKPOINTS, pause)

    def end(self, number: int, standing: Standing) -> None:
        """Remembers where a loop has ended, if it took long."""
        long = time.monotonic() - self._begun[number] > SECONDS_WORTH_KEEPING
        if long or number in self.standings:
            self.standings[number] = _copy(standing)


_watches: list[Watch] = []


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Lets the loops that run in this block be looked after."""
    _watches.append(watch)
    try:
        yield
    finally:
        _watches.remove(watch)


def begin(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Of a loop that begins: number, epoch, step, steps until a look, arrays."""
    if not _watches:
        return _begun(0, Standing(0, 0, arrays), NEVER)
    watch = _watches[-1]
    number, standing = watch.begin(arrays)
    return _begun(number, standing, watch.pace.begin())


def look(number: np.ndarray, epoch: np.ndarray, step: np.ndarray, *arrays: np.ndarray) -> np.int32:
    """The steps until the next look. Interrupted where the task is to stop."""
    watch = _watches[-1]
    watch.look(int(number), Standing(int(epoch), int(step), arrays))
    return np.int32(watch.pace.next())


def end(number: np.ndarray, epoch: np.ndarray, step: np.ndarray, *arrays: np.ndarray) -> np.int32:
    """Tells that a loop has ended."""
    if _watches:
        _watches[-1].end(int(number), Standing(int(epoch), int(step), arrays))
    return np.int32(0)


def _begun(number: int, standing: Standing, left: int) -> tuple[np.ndarray, ...]:
    counts = [np.asarray(one, np.int32) for one in (number, standing.epoch, standing.step, left)]
    return (*counts, *standing.arrays)


def _copy(standing: Standing) -> Standing:
    """What is in memory that the loop goes on to use, elsewhere."""
    return standing._replace(arrays=tuple(np.array(array) for array in standing.arrays))

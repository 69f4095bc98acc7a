"""The work of one side of a comparison in a round, and its cost."""

from __future__ import annotations

import ctypes
import os
import resource
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER, of linux/prctl.h."""


class Work(NamedTuple):
    """The work of a side, made by its function; nothing is traced or compiled yet.

    do: a round. units: the steps, rows or jobs that it does beyond those of `without`, which is
    what does not count, such as the end of a fit. shows: arrays by name, which the other side has
    too if it does the same work.
    """

    do: Callable[[], object]
    units: float
    without: Callable[[], object] | None = None
    shows: Callable[[], dict[str, Any]] | None = None


class Seconds(NamedTuple):
    """Processor time of a process and of its children that have ended, and wall time."""

    cpu: float
    wall: float


def adopt() -> None:
    """Makes this process the parent of what its children leave behind, to count that too."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1)


def a_unit(work: Work, waits: bool = True) -> Seconds:
    """Seconds of a unit, in one round.

    waits: until all children of this process have ended, to count them. Not where it has children
    of others, which may never end.
    """
    spent = _timed(work.do, waits)
    less = _timed(work.without, waits) if work.without else Seconds(0.0, 0.0)
    return Seconds(*((a - b) / work.units for a, b in zip(spent, less, strict=True)))


def _timed(run: Callable[[], object], waits: bool) -> Seconds:
    before = _spent(waits)
    run()
    return Seconds(*(a - b for a, b in zip(_spent(waits), before, strict=True)))


def _spent(waits: bool) -> Seconds:
    with suppress(ChildProcessError):
        while waits:
            os.waitpid(-1, 0)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Seconds(sum(one.ru_utime + one.ru_stime for one in used), time.perf_counter())

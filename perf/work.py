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
    """The work of a side, as made by its function; nothing is traced or compiled yet.

    do: runs a round. units: the steps, rows or jobs in `do` beyond those in `without`, whose cost
    is subtracted, such as the end of a fit. shows: results by name, in which the other side must
    agree if it does the same work.
    """

    do: Callable[[], object]
    units: float
    without: Callable[[], object] | None = None
    shows: Callable[[], dict[str, Any]] | None = None


class Seconds(NamedTuple):
    """Processor time of a process and its ended children, and wall time."""

    cpu: float
    wall: float


def adopt() -> None:
    """Make this process the parent of its children's orphans, to count them as well."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1)


def a_unit(work: Work, waits: bool = True) -> Seconds:
    """Return the seconds per unit in one round.

    waits: wait until all children of this process have ended, to count them. Children started by
    others may never end.
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

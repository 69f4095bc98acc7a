"""Processes that end with their parent, however it ends (Linux)."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterable

_PR_SET_PDEATHSIG = 1
"""From linux/prctl.h."""


def die_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """Ask the kernel to send this process a signal when its parent, `parent`, has died.

    Without effect on systems other than Linux.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:  # it died before the request
        os.kill(os.getpid(), number)


def signals_of_make(numbers: Iterable[int]) -> list[int]:
    """Return which of these signals the parent `make` has received.

    On SIGINT and SIGHUP `make` waits for its children but does not signal them, because a terminal
    would have done so. It then no longer handles the signal, which is how it is recognised here.
    Empty if the parent is not `make`, and on systems other than Linux.
    """
    if "MAKELEVEL" not in os.environ:
        return []
    try:
        with open(f"/proc/{os.getppid()}/status", encoding="utf-8") as file:
            status = file.read()
    except OSError:
        return []
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    if fields["Name"] not in ("make", "gmake"):
        return []
    handled = int(fields["SigCgt"], 16) | int(fields["SigIgn"], 16)
    return [number for number in numbers if not handled >> (number - 1) & 1]

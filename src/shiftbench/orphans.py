"""No orphans: a process that dies with its parent, however the parent dies (Linux)."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
"""From linux/prctl.h."""


def die_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """Asks the kernel to send this process a signal as soon as `parent` has died.

    parent: the process that started this one. Without effect on systems other than Linux.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:  # it died before we could ask
        os.kill(os.getpid(), number)

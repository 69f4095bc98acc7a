"""Signals, held from before there is anything to stop until a loop acts on them.

A handler that acts at once may interrupt the start of a process that nobody knows yet, and a
blocking call that begins just after a signal came does not see it. So the signals go to a pipe,
which Python writes to as soon as the system delivers one, and which a loop waits for. Imports
the standard library only: every job passes here.
"""

from __future__ import annotations

import os
import select
import signal


class Signals:
    """The signals that came since this was made; those that were ignored stay ignored.

    Make it in the main thread. The handlers stay until the process ends.
    """

    def __init__(self, *numbers: int) -> None:
        self._reads, writes = os.pipe()
        for end in (self._reads, writes):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(writes, warn_on_full_buffer=False)
        for number in numbers:
            if signal.getsignal(number) != signal.SIG_IGN:  # as it is below nohup
                signal.signal(number, _note)

    def fileno(self) -> int:
        """Return the end of the pipe to wait for."""
        return self._reads

    def take(self) -> list[int]:
        """Return the numbers of the signals that came since the last call."""
        try:
            return list(os.read(self._reads, 4096))
        except BlockingIOError:  # none
            return []

    def wait(self, seconds: float) -> list[int]:
        """Return the signals, as soon as one has come, or nothing after some seconds."""
        select.select([self._reads], [], [], seconds)
        return self.take()


def _note(_number: int, _frame: object) -> None:
    """Leave the signal to the pipe."""

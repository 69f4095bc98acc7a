"""Signals that are queued until a loop acts on them.

A handler that acts at once may interrupt the start of a process before its number is stored, and a
blocking call that begins just after a signal does not notice it. So signals go to a pipe, which
Python writes to as soon as the system delivers one, and which a loop waits for. Imports only the
standard library, since every job imports it.
"""

from __future__ import annotations

import os
import select
import signal


class Signals:
    """The signals that came since its creation; signals that were ignored stay ignored.

    Create it in the main thread. The handlers stay until the process ends.
    """

    def __init__(self, *numbers: int) -> None:
        self._reads, writes = os.pipe()
        for end in (self._reads, writes):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(writes, warn_on_full_buffer=False)
        for number in numbers:
            if signal.getsignal(number) != signal.SIG_IGN:  # as SIGHUP is below nohup
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
        """Return the signals as soon as one has come, or none after some seconds."""
        select.select([self._reads], [], [], seconds)
        return self.take()


def ignore(*numbers: int) -> None:
    """Ignore signals from now on, once nothing is left that they could stop.

    Python resets handlers, but not this, before it has ended: a signal then would end the process
    and replace its exit status.
    """
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)


def exit_status(status: int) -> int:
    """Return a status of subprocess as a shell does: 128 + the signal that ended the process."""
    return 128 - status if status < 0 else status


def _note(_number: int, _frame: object) -> None:
    """Leave the signal to the pipe."""

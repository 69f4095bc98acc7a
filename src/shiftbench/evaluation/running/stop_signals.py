"""Why a run has to stop: a signal, or the end of its time.

Python acts on a signal between two of its own steps, so not while TensorFlow is at work for an
hour. The system writes the signal's number to a pipe at once, which another thread can read.
"""

from __future__ import annotations

import os
import signal
import time
from types import TracebackType

SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)
SHARE_OF_TIME_LIMIT = 0.9


class Stopped(Exception):
    """The run was told to stop, and is saved; running it again goes on from there."""


class Stops:
    """From when it is entered, by the main thread, a signal to stop raises Stopped there, once.

    What comes later, also after the time limit, is noted but raises nothing, as the state is being
    saved by then. The handlers stay, for the time in which the results are written.
    """

    def __init__(self, minutes: float) -> None:
        self._end = time.monotonic() + SHARE_OF_TIME_LIMIT * 60 * minutes
        self._over = f"{SHARE_OF_TIME_LIMIT:.0%} of the limit of {minutes:g} min is over"
        self._received, self._told = "", False

    def __enter__(self) -> Stops:
        self._reads, self._writes = os.pipe()
        for end in (self._reads, self._writes):
            os.set_blocking(end, False)
        self._before = signal.set_wakeup_fd(self._writes)
        for number in SIGNALS:
            signal.signal(number, self._stop)
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.set_wakeup_fd(self._before)
        for end in (self._reads, self._writes):
            os.close(end)

    def reason(self) -> str:
        """Why to stop now, in any thread; empty for no reason."""
        try:
            for number in os.read(self._reads, 100):
                if number in SIGNALS:
                    self._received = f"signal {signal.Signals(number).name}"
        except BlockingIOError:  # nothing new
            pass
        found = self._received or (self._over if time.monotonic() > self._end else "")
        self._told = self._told or bool(found)
        return found

    def _stop(self, number: int, _frame: object) -> None:
        self._received = f"signal {signal.Signals(number).name}"
        if not self._told:
            self._told = True
            raise Stopped(self._received)

"""Reasons for which a run has to stop: a signal, or the end of its time.

Python handles a signal between two bytecodes, so not while TensorFlow works for an hour. The
system writes the signal's number to a pipe at once, which another thread can read.
"""

from __future__ import annotations

import os
import signal
import time
from types import TracebackType

SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)
SHARE_OF_TIME_LIMIT = 0.9


class Stopped(Exception):
    """The run had to stop and is saved; running it again resumes from there."""


class StopSignals:
    """A context of the main thread in which the first signal to stop raises Stopped.

    Later signals, also after the time limit, raise nothing, as the state is being saved by then.
    The handlers stay installed while the results are written.
    """

    def __init__(self, minutes: float) -> None:
        self._end = time.monotonic() + SHARE_OF_TIME_LIMIT * 60 * minutes
        self._over = f"{SHARE_OF_TIME_LIMIT:.0%} of the limit of {minutes:g} min is over"
        self._received, self._reported = "", False

    def __enter__(self) -> StopSignals:
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
        """Return why to stop now, empty for no reason. Any thread may call it."""
        try:
            for number in os.read(self._reads, 100):
                if number in SIGNALS:
                    self._received = f"signal {signal.Signals(number).name}"
        except BlockingIOError:  # no new signal
            pass
        reason = self._received or (self._over if time.monotonic() > self._end else "")
        self._reported = self._reported or bool(reason)
        return reason

    def _stop(self, number: int, _frame: object) -> None:
        self._received = f"signal {signal.Signals(number).name}"
        if not self._reported:
            self._reported = True
            raise Stopped(self._received)

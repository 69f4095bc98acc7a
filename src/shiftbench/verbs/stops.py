"""The end of a job that was stopped: it goes back into the queue, and that is no failure."""

from __future__ import annotations

import logging
import signal
import time
from pathlib import Path

from shiftbench import slurm
from shiftbench.running import attempts

log = logging.getLogger("shiftbench")

STOPPED = 75
"""Exit status of a job that saved its state and wants to be run again (EX_TEMPFAIL)."""
KILL_SECONDS = 120.0
"""Slurm has ended a job long before, after it has agreed to requeue it."""


def end(output: Path, scratch: Path, reason: str) -> int:
    """The exit status of a run that was stopped and is saved; none if Slurm requeues its job."""
    if not attempts.has_advanced(scratch):
        log.warning("%s: stopped again, %s, and no further than before", output, reason)
        return STOPPED
    if slurm.requeue():
        log.info("%s: stopped, %s; its job is back in the queue", output, reason)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(KILL_SECONDS)
    log.warning("%s: stopped, %s; start it again to go on", output, reason)
    return STOPPED

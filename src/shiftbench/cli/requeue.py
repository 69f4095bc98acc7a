"""The end of a job that was stopped: it goes back into the queue, and that is not a failure."""

from __future__ import annotations

import logging
import time
from pathlib import Path

from shiftbench.core import exit_statuses
from shiftbench.evaluation.running import restart_guard
from shiftbench.evaluation.running.stop_signals import SIGNALS
from shiftbench.runtime import signals, slurm

log = logging.getLogger("shiftbench")

PATIENCE_SECONDS, ASK_SECONDS = 120.0, 2.0
"""Seconds, longer than a restart of slurmctld; the job's time limit may end the wait earlier."""
KILL_SECONDS = 120.0
"""Seconds after which Slurm has certainly ended a job that it agreed to requeue."""
LONGER = "; raise `minutes` of the study to let it finish in one go"
"""The remedy for a run that used up its time. No result depends on the limit."""


def ignore() -> None:
    """Ignore signals to stop, because the rest of the work takes only a moment."""
    signals.ignore(*SIGNALS)


def end(output: Path, scratch: Path, reason: str) -> int:
    """Return the exit status of a stopped, saved run; never return if Slurm requeues its job."""
    ignore()  # the state is saved
    remedy = "" if reason.startswith("signal") else LONGER
    if not restart_guard.has_advanced(scratch):
        log.warning("%s: stopped again, %s, and no further than before%s", output, reason, remedy)
        return exit_statuses.STOPPED
    until = time.monotonic() + PATIENCE_SECONDS
    while (requeued := slurm.requeue()) is None and time.monotonic() < until:
        time.sleep(ASK_SECONDS)
    if requeued:
        log.info("%s: stopped, %s; its job is back in the queue", output, reason)
        time.sleep(KILL_SECONDS)
    log.warning("%s: stopped, %s; start it again to go on%s", output, reason, remedy)
    return exit_statuses.STOPPED

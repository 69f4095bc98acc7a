"""Supervision of Snakemake while its jobs are in the queue of a cluster.

A Snakemake that was killed, or that hangs, is started again, and takes its jobs over. When the
supervisor itself is stopped, by Ctrl-C or by the end of the login, the jobs go on, and the same
command takes them over. Signals are queued, and a loop acts on them, so that none interrupts the
start of a Snakemake before its number is stored.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from shiftbench.runtime import slurm
from shiftbench.runtime.parent_death import die_with_parent, signals_of_make
from shiftbench.runtime.signals import Signals, exit_status, ignore

MAX_STARTS = 10
"""The number of times that Snakemake is started, again if it was killed or hung."""
HUNG_SECONDS = 600.0
"""Snakemake polls its jobs every half minute, and waits as long for their files."""
MAIN = [sys.executable, "-m", "shiftbench.runtime.cluster.main_process"]
LOOK_SECONDS = 15.0
LOGS = Path(".snakemake/log")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(arguments: list[str], name: str) -> int:
    """Run Snakemake, again if it died; return its exit status. Sets signal handlers.

    name: of its jobs in Slurm, by which a later Snakemake takes them over.
    """
    signals = Signals(*SIGNALS, signal.SIGCHLD)
    if "MAKELEVEL" in os.environ:
        die_with_parent(os.getppid(), signal.SIGTERM)
    status = 0
    for _ in range(MAX_STARTS):
        # In its own session, since it would cancel its jobs on Ctrl-C.
        begin = partial(die_with_parent, os.getpid())
        main = subprocess.Popen([*MAIN, name, *arguments], start_new_session=True, preexec_fn=begin)
        try:
            status = _wait(main, signals, _Activity(name))
        except _StopSignal as stop:
            ignore(*SIGNALS)
            main.kill()
            main.wait()
            _say(f"stopped by {stop}: {_remaining_jobs(name)}")
            return 128 + stop.number
        if status != -signal.SIGKILL:
            return exit_status(status)
        _say("Snakemake was killed; its jobs go on, and it starts again")
    return exit_status(status)


class _Activity:
    """Detection of a Snakemake that hangs, from its log and the queue of its jobs.

    Snakemake has something to do, and writes to its log, when one of its jobs has ended or no job
    is in the queue. It may be silent only while all its jobs are still in the queue.
    """

    def __init__(self, name: str) -> None:
        self.name, self.since = name, time.monotonic()
        self.written, self.queued = 0.0, set[str]()

    def has_stopped(self) -> bool:
        """Return whether it has been silent for long although it had something to do."""
        queue, written = slurm.queue(self.name), _last_written()
        if queue is None or written > self.written or (queue and self.queued <= queue.keys()):
            self.since, self.written = time.monotonic(), written
            self.queued = self.queued if queue is None else set(queue)
        return time.monotonic() - self.since > HUNG_SECONDS


class _StopSignal(Exception):
    """A signal to stop came."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def _wait(main: subprocess.Popen, signals: Signals, activity: _Activity) -> int:
    """Return the exit status of Snakemake; kill it if it hangs. Raises _StopSignal."""
    while main.poll() is None:
        came = signals.wait(LOOK_SECONDS)
        for number in came or signals_of_make(SIGNALS):
            if number in SIGNALS:
                raise _StopSignal(number)
        if not came and activity.has_stopped():
            _say(f"Snakemake has done nothing for {HUNG_SECONDS / 60:.0f} min")
            main.kill()
    return main.returncode


def _last_written() -> float:
    """Return the time of the last write to a log of Snakemake; 0 without a log."""
    return max((log.stat().st_mtime for log in LOGS.glob("*.log")), default=0.0)


def _remaining_jobs(name: str) -> str:
    queue = slurm.queue(name)
    if queue is None:
        return "Slurm does not answer; its jobs go on, and the same command takes them over"
    if not queue:
        return "no job is in the queue; the same command goes on from there"
    jobs = "1 job goes on" if len(queue) == 1 else f"{len(queue)} jobs go on"
    return (
        f"{jobs} in the queue; the same command takes over, and scancel --name={name} ends them,"
        " with their state saved"
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

"""Keeps Snakemake alive while its jobs are in the queue of a cluster.

A Snakemake that was killed, or that hangs, is started again, and takes its jobs over. When the
supervisor itself is told to end, by Ctrl-C or with the login, they go on, and the same command
takes them over. Its signals are held, and a loop acts on them, so that none comes while a Snakemake
is being started that nobody knows yet.
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
from shiftbench.runtime.signals import Signals

DEATHS = 10
"""So often is a Snakemake that was killed, or hung, started again."""
HUNG_SECONDS = 600.0
"""It looks at its jobs every half minute, and waits as long for their files."""
MAIN = [sys.executable, "-m", "shiftbench.runtime.cluster.main_process"]
LOOK_SECONDS = 15.0
LOGS = Path(".snakemake/log")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(arguments: list[str], name: str) -> int:
    """Runs Snakemake, again where it died; its exit status. Sets signal handlers.

    name: of its jobs in Slurm, the same for all who are to take them over.
    """
    signals = Signals(*SIGNALS, signal.SIGCHLD)
    if "MAKELEVEL" in os.environ:
        die_with_parent(os.getppid(), signal.SIGTERM)
    status = 0
    for _ in range(DEATHS):
        # In a session of its own: Ctrl-C would have it cancel its jobs.
        begin = partial(die_with_parent, os.getpid())
        main = subprocess.Popen([*MAIN, name, *arguments], start_new_session=True, preexec_fn=begin)
        try:
            status = _wait(main, signals, _Progress(name))
        except _Stopped as stopped:
            main.kill()
            main.wait()
            _say(f"stopped by {stopped}: {_what_goes_on(name)}")
            return 128 + stopped.number
        if status != -signal.SIGKILL:
            return 128 - status if status < 0 else status
        _say("Snakemake was killed; its jobs go on, and it starts again")
    return 128 - status


class _Progress:
    """Whether Snakemake works, as its log and the queue of its jobs say.

    It has something to do, and says so in its log, when one of its jobs has ended, or when none
    is in the queue. Only while all are still there may it be silent.
    """

    def __init__(self, name: str) -> None:
        self.name, self.since = name, time.monotonic()
        self.written, self.queued = 0.0, set[str]()

    def has_stopped(self) -> bool:
        """Whether it has been silent for long, though it had something to do."""
        queue, written = slurm.queue(self.name), _last_written()
        if queue is None or written > self.written or (queue and self.queued <= queue.keys()):
            self.since, self.written = time.monotonic(), written
            self.queued = self.queued if queue is None else set(queue)
        return time.monotonic() - self.since > HUNG_SECONDS


class _Stopped(Exception):
    """A signal to end; number: which."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def _wait(main: subprocess.Popen, signals: Signals, progress: _Progress) -> int:
    """The exit status of Snakemake, which is killed where it hangs. Raises _Stopped."""
    while main.poll() is None:
        came = signals.wait(LOOK_SECONDS)
        for number in came or signals_of_make(SIGNALS):
            if number in SIGNALS:
                raise _Stopped(number)
        if not came and progress.has_stopped():
            _say(f"Snakemake has done nothing for {HUNG_SECONDS / 60:.0f} min")
            main.kill()
    return main.returncode


def _last_written() -> float:
    """When the newest log of Snakemake was last written to; 0 without one."""
    return max((one.stat().st_mtime for one in LOGS.glob("*.log")), default=0.0)


def _what_goes_on(name: str) -> str:
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

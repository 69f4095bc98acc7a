"""Runs a command so that a signal always stops it, after its jobs have saved their state.

Snakemake can hang forever on SIGTERM: its handler waits for a lock that the interrupted code may
hold. On SIGINT it starts no more jobs and waits for the running ones, but stops none of them. So
the command gets its own session, which the terminal and `make` do not signal. To stop it, it gets a
single SIGINT, and its jobs, the processes below it without children, get SIGTERM. Processes that do
not end by themselves are killed.

Our own signals are queued from before the command starts, and a loop acts on them, so that none
interrupts the start of a process before its number is stored.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

import psutil

from shiftbench.runtime.parent_death import die_with_parent, signals_of_make
from shiftbench.runtime.signals import Signals, exit_status, ignore

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CLEAR_LINE = "\r\x1b[K"
GRACE_SECONDS = 30.0
"""Seconds that jobs have to save their state after a signal; then they are killed."""
ECHO_SECONDS = 1.0
"""Seconds within which a second signal is an echo: `make` repeats SIGTERM to its process group."""
TICK_SECONDS = 0.5
"""Seconds between two checks for signals to `make`, and for jobs that started during the stop."""


def run(command: list[str], environment: Mapping[str, str], signals: Signals | None = None) -> int:
    """Run the command; return its exit status, or 128 + the signal that stopped it.

    Kills whatever it left running. SIGNALS are ignored after that. signals: for SIGNALS and
    SIGCHLD, if the caller has something to clean up before; otherwise their handlers are set here.
    """
    signals = signals or Signals(*SIGNALS, signal.SIGCHLD)
    if "MAKELEVEL" in os.environ:  # killing `make` stops its run
        die_with_parent(os.getppid(), signal.SIGTERM)
    child = subprocess.Popen(
        command,
        env=environment,
        start_new_session=True,
        preexec_fn=partial(_begin, os.getpid()),
    )
    stop = _Stop(child)
    while child.poll() is None:
        stop.act(signals.wait(TICK_SECONDS))
    ignore(*SIGNALS)
    _kill(child)
    stop.report_end(child.returncode)
    return 128 + stop.number if stop.number else exit_status(child.returncode)


class _Stop:
    """The progress of stopping a command."""

    def __init__(self, command: subprocess.Popen) -> None:
        self.command = command
        self.number = 0
        """The signal to stop; 0 as long as none has come."""
        self.since = 0.0
        self.killed = False
        self.terminated: set[psutil.Process] = set()

    def act(self, came: list[int]) -> None:
        """Stop the command at the first signal; continue at every later call."""
        requests = [number for number in came if number in SIGNALS]
        if not self.number:
            for number in (requests or signals_of_make(SIGNALS))[:1]:
                self.begin(number)
        elif time.monotonic() - self.since > (ECHO_SECONDS if requests else GRACE_SECONDS):
            self.killed = True
            _kill(self.command)
        else:
            self.terminate(_jobs(self.command) - self.terminated)

    def begin(self, number: int) -> None:
        """Signal the command and its jobs to stop."""
        _say(
            f"stopping: running jobs save their state, for {GRACE_SECONDS:.0f} s at most;"
            " once more ends them at once"
        )
        jobs = _jobs(self.command)
        self.command.send_signal(signal.SIGINT)
        self.terminate(jobs)
        self.number, self.since = number, time.monotonic()

    def terminate(self, jobs: set[psutil.Process]) -> None:
        self.terminated |= jobs
        for job in jobs:
            with suppress(psutil.NoSuchProcess):
                job.terminate()

    def report_end(self, status: int) -> None:
        """Say what to do if the command was stopped. status: as in Popen."""
        if number := self.number or max(-status, 0):
            how = "what still ran was killed" if self.killed else "no job is left running"
            say_stopped(number, how)


def say_stopped(number: int, how: str = "") -> None:
    """Print by which signal a command was stopped, and how to go on. how: what became of jobs."""
    by = ", ".join(filter(None, [f"stopped by {signal.Signals(number).name}", how]))
    _say(f"{by}; the same command goes on from there")


def _begin(parent: int) -> None:
    """Prepare the child before it becomes the command."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it
    die_with_parent(parent)


def _jobs(command: subprocess.Popen) -> set[psutil.Process]:
    """Return the processes below the command that have no children."""
    try:
        below = psutil.Process(command.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return set()
    parents = set()
    for process in below:
        with suppress(psutil.NoSuchProcess):
            parents.add(process.ppid())
    return {process for process in below if process.pid not in parents}


def _kill(command: subprocess.Popen) -> None:
    """Kill the command and all processes below it, or those that it has left behind."""
    with suppress(ProcessLookupError, PermissionError):  # none is left
        os.killpg(command.pid, signal.SIGKILL)


def _say(line: str) -> None:
    with suppress(OSError):  # the terminal may be gone
        # On a terminal the command may show its progress in the line of the cursor.
        begin = CLEAR_LINE if sys.stderr.isatty() else ""
        print(begin + line, file=sys.stderr, flush=True)

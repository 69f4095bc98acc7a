"""Runs a command that always ends when it is told to, once its jobs have saved their state.

Snakemake can hang for good on SIGTERM: its handler waits for a lock that the very code which
it interrupts may hold. On SIGINT it starts nothing more and waits for its jobs, but ends none
of them. So the command gets a session of its own, out of reach of the terminal and of `make`.
It is told by one SIGINT, and its jobs, the processes below it that have none below them, by
SIGTERM. What does not end by itself is killed.

Our own signals are held from before the command starts, and a loop acts on them, so none comes
while a process is being started that nobody knows yet.
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

from shiftbench.runtime.forkserver_client import exit_status
from shiftbench.runtime.parent_death import die_with_parent, signals_of_make
from shiftbench.runtime.signals import Signals

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CLEAR_LINE = "\r\x1b[K"
GRACE_SECONDS = 30.0
"""Jobs act on a signal between two steps; what still runs after this time is killed."""
ECHO_SECONDS = 1.0
"""`make` passes SIGTERM on to us after its group, with us in it, has had it."""
TICK_SECONDS = 0.5
"""How often to look for jobs that were just being started when the signal came, and at `make`."""


def run(command: list[str], environment: Mapping[str, str], signals: Signals | None = None) -> int:
    """Run the command; return its exit status, or 128 + the signal that stopped it.

    When it is over, whatever it left running is killed. signals: SIGNALS and SIGCHLD, where the
    caller has something to lose before; otherwise their handlers are set here.
    """
    signals = signals or Signals(*SIGNALS, signal.SIGCHLD)
    if "MAKELEVEL" in os.environ:  # a `make` that is killed stops its run
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
    _kill(child)
    stop.tell_end(child.returncode)
    return 128 + stop.number if stop.number else exit_status(child.returncode)


class _Stop:
    """How far the stopping of a command has come."""

    def __init__(self, command: subprocess.Popen) -> None:
        self.command = command
        self.number = 0
        """The signal to stop, 0 as long as there was none."""
        self.since = 0.0
        self.killed = False
        self.told: set[psutil.Process] = set()

    def act(self, came: list[int]) -> None:
        """Stop the command at the first signal; go on with that at every later call."""
        asked = [number for number in came if number in SIGNALS]
        if not self.number:
            for number in (asked or signals_of_make(SIGNALS))[:1]:
                self.begin(number)
        elif time.monotonic() - self.since > (ECHO_SECONDS if asked else GRACE_SECONDS):
            self.kill()
        else:
            self.tell(_jobs(self.command) - self.told)

    def begin(self, number: int) -> None:
        """Ask the command and its jobs to end."""
        _say(
            f"stopping: running jobs save their state, for {GRACE_SECONDS:.0f} s at most;"
            " once more ends them at once"
        )
        running = _jobs(self.command)
        self.command.send_signal(signal.SIGINT)
        self.tell(running)
        self.number, self.since = number, time.monotonic()

    def tell(self, jobs: set[psutil.Process]) -> None:
        self.told |= jobs
        for job in jobs:
            with suppress(psutil.NoSuchProcess):
                job.terminate()

    def kill(self) -> None:
        self.killed = True
        _kill(self.command)

    def tell_end(self, status: int) -> None:
        """Says what to do if the command did not end by itself. status: as Popen gives it."""
        if number := self.number or max(-status, 0):
            how = "what still ran was killed" if self.killed else "no job is left running"
            name = signal.Signals(number).name
            _say(f"stopped by {name}, {how}; the same command (`make run`) goes on from there")


def _begin(parent: int) -> None:
    """In the child, before it becomes the command."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it
    die_with_parent(parent)


def _jobs(command: subprocess.Popen) -> set[psutil.Process]:
    """The processes below the command that have none below them."""
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
    """Kills the command and all below it, or what it has left behind."""
    with suppress(ProcessLookupError, PermissionError):  # nothing is left
        os.killpg(command.pid, signal.SIGKILL)


def _say(line: str) -> None:
    with suppress(OSError):  # the terminal may be gone
        # On a terminal the command may show its progress in the line that the cursor is in.
        begin = CLEAR_LINE if sys.stderr.isatty() else ""
        print(begin + line, file=sys.stderr, flush=True)

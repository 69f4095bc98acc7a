"""Runs a command that always ends when it is told to, once its jobs have saved their state.

Snakemake can hang for good on SIGTERM: its handler waits for a lock that the very code which
it interrupts may hold. On SIGINT it starts nothing more and waits for its jobs, but ends none
of them. So the command gets a session of its own, out of reach of the terminal and of `make`.
It is told by one SIGINT, and its jobs, the processes below it that have none below them, by
SIGTERM. What does not end by itself is killed.
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

from shiftbench.orphans import die_with_parent
from shiftbench.warm import exit_status

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CLEAR_LINE = "\r\x1b[K"
GRACE_SECONDS = 30.0
"""Jobs act on a signal between two steps; what still runs after this time is killed."""
ECHO_SECONDS = 1.0
"""`make` passes SIGTERM on to us after its group, with us in it, has had it."""
TICK_SECONDS = 0.5
"""How often to look for jobs that were just being started when the signal came."""


def run(command: list[str], environment: Mapping[str, str]) -> int:
    """Runs the command; its exit status, or 128 + the signal that stopped it.

    When it is over, whatever it left running is killed. Sets signal handlers.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # until somebody handles them
    child = subprocess.Popen(
        command,
        env=environment,
        start_new_session=True,
        preexec_fn=partial(_begin, os.getpid()),
    )
    stop = _Stop(child)
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # as it is below nohup
            signal.signal(number, stop.ask)
    if "MAKELEVEL" in os.environ:  # a `make` that is killed stops its run
        die_with_parent(os.getppid(), signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    status = child.wait()
    for number in (signal.SIGALRM, *SIGNALS):  # what is left to do takes a moment
        signal.signal(number, signal.SIG_IGN)
    _kill(child)
    stop.tell_end(status)
    return 128 + stop.number if stop.number else exit_status(status)


class _Stop:
    """How far the stopping of a command has come; its methods are signal handlers."""

    def __init__(self, command: subprocess.Popen) -> None:
        self.command = command
        self.number = 0
        """The signal to stop, 0 as long as there was none."""
        self.since = 0.0
        self.killed = False
        self.told: set[psutil.Process] = set()

    def ask(self, number: int, _frame: object) -> None:
        """Stops the command at the first signal, and kills it at the second."""
        if not self.number:
            self.number, self.since = number, time.monotonic()
            _say(
                f"stopping: running jobs save their state, for {GRACE_SECONDS:.0f} s at most;"
                " once more ends them at once"
            )
            running = _jobs(self.command)
            self.command.send_signal(signal.SIGINT)
            self.tell(running)
            signal.signal(signal.SIGALRM, self.look)
            signal.setitimer(signal.ITIMER_REAL, TICK_SECONDS, TICK_SECONDS)
        elif time.monotonic() - self.since > ECHO_SECONDS:
            self.kill()

    def look(self, _number: int, _frame: object) -> None:
        """Tells the jobs that are new, and ends all when the time is over."""
        if time.monotonic() - self.since > GRACE_SECONDS:
            self.kill()
        else:
            self.tell(_jobs(self.command) - self.told)

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
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
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

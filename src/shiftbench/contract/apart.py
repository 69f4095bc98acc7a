"""Runs the tests of one part in a separate process, with a time limit and its own folder.

The process is a fork of this one, which has done the slow imports and has no threads. Whatever the
part does to it, the tests of other parts go on.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import re
import resource
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import connection
from pathlib import Path
from typing import Any, TextIO

from shiftbench.contract import guard

LARGEST_FILE = 2**30
"""Bytes that a part may write to a file, so that endless output fills no disk."""
MOST_PRINTED = 10_000
"""Bytes that a part may print while it is tried."""
ENDING_SECONDS = 10.0
"""Seconds that a process has to end after it has sent its results."""
TRACE = "trace"
PRINTED = "printed"

Name = tuple[str, str]
"""Kind and name of a component."""


@dataclass
class Findings:
    """What the tests found out about the components of one file.

    general: failures of the file as a whole. untried: what was left out and why.
    """

    passed: dict[Name, int] = field(default_factory=dict)
    failures: dict[Name, dict[str, str]] = field(default_factory=dict)
    untried: dict[Name, str] = field(default_factory=dict)
    general: list[str] = field(default_factory=list)

    def fail(self, name: Name, text: str, cause: str) -> None:
        """Add a failure, unless one of the same cause is known: a cause fails many checks."""
        self.failures.setdefault(name, {}).setdefault(cause, text)


@dataclass
class Reporter:
    """Sends results from the part's process through a pipe."""

    pipe: connection.Connection
    trace: TextIO
    limit: float
    process: int

    def trying(self, check: str) -> None:
        """Announce the next check, and start its time limit."""
        faulthandler.dump_traceback_later(self.limit, file=self.trace)
        self.send("trying", check)

    def send(self, *message: Any) -> None:
        """Send a message, but not from a process that the part has forked."""
        if os.getpid() == self.process:
            self.pipe.send(message)


Tests = Callable[[Reporter], None]


def run(package: Path, tests: Tests, limit: float) -> Findings:
    """Run `tests` in a separate process, which ends when one of them takes `limit` seconds.

    package: the folder of the parts; messages name lines of its files.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        folder = Path(made).resolve()
        (folder / "work").mkdir()
        receiving, sending = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("fork").Process(
            target=_in_the_fork, args=(package, folder, sending, tests, limit)
        )
        sys.stdout.flush()
        process.start()
        sending.close()
        findings = Findings()
        try:
            ended = _collect(findings, receiving, process, limit)
            findings.general += [f"{ended}{_place(package, folder / TRACE)}."] if ended else []
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid or 0, signal.SIGKILL)
            process.join()
        findings.general += _printed(folder / PRINTED)
    return findings


def _collect(findings: Findings, pipe: connection.Connection, process: Any, limit: float) -> str:
    """Add all received results to the findings; return why the process ended early, if it did."""
    check = "it is started"
    while True:
        if not connection.wait([pipe, process.sentinel], limit + 1):
            return f"{_tried(check)}: no end in {limit:g} seconds (--limit allows more)"
        try:
            what, *message = pipe.recv() if pipe.poll() else ("died",)
        except EOFError:
            what = "died"
        match what:
            case "trying":
                (check,) = message
            case "passed":
                findings.passed[message[0]] = findings.passed.get(message[0], 0) + 1
            case "failed":
                findings.fail(*message)
            case "untried":
                findings.untried[message[0]] = message[1]
            case "refused":
                findings.general += [one for one in message if one not in findings.general]
            case "done":
                process.join(ENDING_SECONDS)
                threads = f", since a thread of it runs on: {message[0]}" if message[0] else ""
                return "" if process.exitcode == 0 else f"Its process does not end{threads}"
            case _:
                process.join(1)
                return f"{_tried(check)}: Python ended, {_status(process.exitcode)}"


def _tried(check: str) -> str:
    return f"During this check: {check.rstrip('.')}"


def _status(code: int | None) -> str:
    if code is not None and code < 0:
        return f"by the signal {signal.Signals(-code).name}"
    return f"with the exit status {code} and without results"


def _place(package: Path, trace: Path) -> str:
    """Return the line of the part that ran last, as the trace has it; empty if it has none."""
    found = re.findall(r'File "(.+?)", line (\d+)', trace.read_text(errors="replace"))
    own = [f" ({file}, line {line})" for file, line in found if file.startswith(f"{package}/")]
    return own[0] if own else ""


def _printed(file: Path) -> list[str]:
    size = file.stat().st_size
    if size <= MOST_PRINTED:
        return []
    with file.open(errors="replace") as lines:
        first = lines.readline(80).strip()
    return [f"It prints little: it printed {size:,} bytes, which begin with {first!r}."]


def _in_the_fork(
    package: Path, folder: Path, pipe: connection.Connection, tests: Tests, limit: float
) -> None:
    os.setsid()
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    largest = LARGEST_FILE if hard == resource.RLIM_INFINITY else min(hard, LARGEST_FILE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))
    trace = (folder / TRACE).open("w")
    with (folder / PRINTED).open("wb") as printed, open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
        for stream in (1, 2):
            os.dup2(printed.fileno(), stream)
    working = folder / "work"
    os.chdir(working)
    os.environ["TMPDIR"] = tempfile.tempdir = str(working)
    faulthandler.enable(trace)
    refusals = guard.install(package, working)
    reporter = Reporter(pipe, trace, limit, os.getpid())
    tests(reporter)
    reporter.send("refused", *refusals[:1])
    threads = [one.name for one in threading.enumerate() if not one.daemon]
    faulthandler.cancel_dump_traceback_later()
    reporter.send("done", ", ".join(threads[1:]))

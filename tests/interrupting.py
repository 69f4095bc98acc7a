"""Run a function in one fork after another, and send each a signal at a different line.

`python -m tests.interrupting NAME SIGNAL STEP [deep]` prints a JSON list of the outcomes at every
STEP-th line. With `deep`, lines of some modules of the standard library count as well. A fork that
leaves a process behind or does not end raises an AssertionError.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from shiftbench.runtime import forkserver_client, graceful_stop, parent_death, signals, slurm
from shiftbench.runtime.cluster import supervisor

PATIENCE_SECONDS = 60.0
IDLE = 200
"""After this many lines without a new one, the function is taken to wait in a loop."""
FOREVER = ["sh", "-c", "exec sleep 1000"]
ANSWER = 7
"""The exit status of the job that the client requests."""


class Outcome(NamedTuple):
    """The outcome of one signal."""

    place: str
    """The line that was next when the signal came; empty if all lines had been tried."""
    status: int
    """As in `subprocess`: the exit status, or minus the number of the fatal signal."""
    sent: list[int]
    """The signals that the client has passed on; [-1] if it has sent no job."""


class Interrupter:
    """A trace function that sends a signal at the first visit of the line with a given number.

    report: called with the position just before the signal. again: how many more signals to send,
    at the lines that follow. idle: after this many lines without a new one, the signal is sent
    anyway, and "" is reported.
    """

    def __init__(
        self,
        files: list[str],
        target: int,
        number: int,
        report: Callable[[str], object],
        again: int = 0,
        idle: float = float("inf"),
    ) -> None:
        self.files, self.target, self.number, self.report = files, target, number, report
        self.again, self.idle = again, idle
        self.process, self.sent, self.known = os.getpid(), False, 0
        self.seen: set[tuple[str, int]] = set()

    def __call__(self, frame: FrameType, event: str, _: object) -> Interrupter | None:
        if frame.f_code.co_filename not in self.files or os.getpid() != self.process:
            return None
        if event == "line" and not self.sent:
            self.visit(frame.f_code.co_filename, frame.f_lineno)
        elif event == "line" and self.again:
            self.again -= 1
            os.kill(self.process, self.number)
        return self

    def visit(self, file: str, line: int) -> None:
        self.known = self.known + 1 if (file, line) in self.seen else 0
        self.seen.add((file, line))
        if len(self.seen) > self.target or self.known > self.idle:
            self.sent = True
            self.report("" if self.known > self.idle else f"{Path(file).name}:{line}")
            os.kill(self.process, self.number)


def run_stopping() -> int:
    """Run a command under `graceful_stop`."""
    return graceful_stop.run(FOREVER, os.environ)


def run_warm() -> int:
    """Run a command with a stand-in for fork servers."""
    return forkserver_client.run(FOREVER)


def run_supervisor() -> int:
    """Run a Snakemake that is killed at once and started again."""
    return supervisor.run([], "name")


def run_client() -> int:
    """Run a job of a fork server."""
    status = forkserver_client.request("light", ["verb"])
    assert status is not None
    return status


FILES = {
    run_stopping: [graceful_stop, parent_death, signals],
    run_warm: [forkserver_client, graceful_stop, parent_death, signals],
    run_supervisor: [supervisor, parent_death, signals],
    run_client: [forkserver_client, signals],
}
"""The modules whose lines count, for each function."""


DEEP = [subprocess, tempfile, shutil, socket]


def main(name: str, number: int, step: int, deep: bool) -> None:
    """Print the outcomes for one of the functions above."""
    function = {one.__name__: one for one in FILES}[name]
    if deep:
        FILES[function] += DEEP
    _stand_in()
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        outcomes = []
        for target in range(0, 10_000, step):
            outcomes.append(_once(function, target, number, Path(folder)))
            if not outcomes[-1].place:
                break
    print(json.dumps(outcomes))


def _stand_in() -> None:
    """Replace slow parts by quick ones."""
    graceful_stop.TICK_SECONDS = supervisor.LOOK_SECONDS = 0.0001
    slurm.queue = lambda *_: {}
    supervisor.MAX_STARTS = 2
    supervisor.MAIN = [
        "sh",
        "-c",
        '[ -e "$HOME/died" ] && exec sleep 1000; : > "$HOME/died"; kill -9 $$',
    ]
    forkserver_client._start_server = lambda _: subprocess.Popen(
        ["cat"], stdin=-1, start_new_session=True
    )


def _once(function: Callable[[], int], target: int, number: int, folder: Path) -> Outcome:
    """Fork a process that gets the signal at its `target`-th line."""
    server = _Server(folder) if function is run_client else None
    (folder / "died").unlink(missing_ok=True)
    os.environ["HOME"] = str(folder)
    reported, report = os.pipe()
    life, lives = os.pipe()
    process = os.fork()
    if not process:
        os.dup2(lives, 1)  # set before the fork, so that all child processes inherit it
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        files = [str(module.__file__) for module in FILES[function]]

        def tell(place: str) -> None:
            os.write(report, place.encode())
            os.close(report)

        _call(function, Interrupter(files, target, number, tell, idle=IDLE))
    os.close(report)
    os.close(lives)
    sent = server.serve(process, life, reported) if server else []
    assert select.select([life], [], [], PATIENCE_SECONDS)[0], "a process is left"
    place = os.read(reported, 100).decode()
    for end in (reported, life):
        os.close(end)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    left = [one.name for one in folder.iterdir() if one.name.startswith("shiftbench-")]
    assert not left or status == -number, f"{place}: {left} is left"
    return Outcome(place, status, sent)


def _call(function: Callable[[], int], interrupter: Interrupter) -> None:
    """Run the function inside the fork and exit with its status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        sys.settrace(interrupter)
        status = function()
        sys.settrace(None)
    except BaseException:
        status = 99
    os._exit(status)


class _Server:
    """A fork server that reports the signals that have reached it."""

    def __init__(self, folder: Path) -> None:
        os.environ[forkserver_client.VARIABLE] = str(folder)
        (folder / "light").unlink(missing_ok=True)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{folder}/light")
        self.listener.listen()

    def serve(self, client: int, life: int, reported: int) -> list[int]:
        """Answer a client once the signal has come, or at once if none is due.

        The client also gets SIGUSR1, so that it passes on at least one signal.
        """
        ready, _, _ = select.select([self.listener, life], [], [], PATIENCE_SECONDS)
        if self.listener not in ready:
            return [-1]
        connection, _ = self.listener.accept()
        with self.listener, connection:
            connection.settimeout(PATIENCE_SECONDS)
            head, streams, _, _ = socket.recv_fds(connection, forkserver_client.LENGTH, 3)
            for stream in streams:
                os.close(stream)
            if not head:
                return [-1]
            job, length = b"", int.from_bytes(head, "big")
            while len(job) < length:
                part = connection.recv(length - len(job))
                assert part, "the client is gone, and it has sent part of a job"
                job += part
            os.kill(client, signal.SIGUSR1)
            came: set[int] = set()
            while signal.SIGUSR1 not in came or (
                len(came) < 2 and select.select([reported], [], [], 0)[0]
            ):
                came |= set(connection.recv(10)) or {0}
                assert 0 not in came, "the client is gone, and it has sent a job"
            connection.send(bytes([ANSWER]))
        return sorted(came)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:] == ["deep"])

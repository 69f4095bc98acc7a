"""Client of the fork servers: processes with TensorFlow imported that fork a child for each job.

`python -m shiftbench warm -- COMMAND` runs COMMAND with SHIFTBENCH_WARM set to a folder with a
socket for each stack. A job started below COMMAND sends its arguments, environment and standard
streams to the server of its stack (cli/forkserver.py), which imports the stack on the first
request. Without a server a job runs in its own process. Imports little of the standard library,
since every job passes here: what only `run` needs is imported there.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from shiftbench.runtime.signals import Signals, ignore

TYPE_CHECKING = False  # importing it from typing takes longer than this whole module
if TYPE_CHECKING:
    import subprocess

VARIABLE = "SHIFTBENCH_WARM"
"""Environment variable: the folder with the sockets of the servers."""
STACKS = ("light", "tensorflow")
IDENTITY = "home"
"""File in that folder with the paths of the servers' package and environment."""
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
"""Signals that the client passes on to its job."""
LENGTH = 8
"""The number of bytes of the length of a job's description."""


def run(command: list[str]) -> int:
    """Run a command with fork servers; return its exit status (see `graceful_stop.run`)."""
    from shiftbench.core import cache_folder
    from shiftbench.runtime import graceful_stop

    signals = Signals(*graceful_stop.SIGNALS, signal.SIGCHLD)
    with serving() as variables:
        os.environ.update(cache_folder.variables())  # for this process too: it draws charts
        return graceful_stop.run(command, os.environ | variables, signals)


@contextmanager
def serving() -> Iterator[dict[str, str]]:
    """Serve the jobs of processes that get the environment variables which this yields."""
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="shiftbench-")
    with open(f"{folder}/{IDENTITY}", "w", encoding="utf-8") as file:
        file.write(_identity())
    server = _start_server(folder)
    try:
        yield {VARIABLE: folder}
    finally:
        if server:
            server.stdin.close()  # type: ignore[union-attr]  # this ends the server
            server.wait()
        # A child that was killed may still be writing there (core/shared_clusters.py).
        shutil.rmtree(folder, ignore_errors=True)


def request(stack: str, arguments: list[str]) -> int | None:
    """Let a server run the job; return its exit status, or None if there is no server.

    Servers of another checkout or outside the job's container do not count. Signal handlers are set
    before the job is sent: an earlier signal ends this process, and there is no job; a later signal
    goes to the job as soon as that exists. A job that has not yet installed handlers ends by the
    signal, as it would without a server; it has nothing to save.
    """
    folder = os.environ.get(VARIABLE)
    if not folder:
        return None
    with suppress(OSError), open(f"{folder}/{IDENTITY}", encoding="utf-8") as file:
        if file.read() != _identity():
            return None
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(f"{folder}/{stack}")
    except OSError:
        return None
    status = b""
    with connection, suppress(ConnectionError):
        signals = Signals(*PASSED_ON)
        job = packed(arguments, os.getcwd(), os.environ)
        socket.send_fds(connection, [len(job).to_bytes(LENGTH, "big")], [0, 1, 2])
        connection.sendall(job)
        status = _status(connection, signals)
    ignore(*PASSED_ON)  # the job is over
    if not status:
        print("the fork server ended; start the workflow again", file=sys.stderr)
        return 1
    if status[0] > 128:
        from shiftbench.runtime import crash_report

        crash_report.write(arguments, status[0] - 128)
    return status[0]


def packed(arguments: list[str], folder: str, environment: Mapping[str, str]) -> bytes:
    """Return a job as bytes: texts without zero bytes, separated by zero bytes."""
    variables = [f"{name}={value}" for name, value in environment.items()]
    return os.fsencode("\0".join([str(len(arguments)), *arguments, folder, *variables]))


def unpacked(job: bytes) -> tuple[list[str], str, dict[str, str]]:
    """Return the arguments, the folder and the environment of a packed job."""
    number, *texts = os.fsdecode(job).split("\0")
    arguments, (folder, *variables) = texts[: int(number)], texts[int(number) :]
    return arguments, folder, dict(text.split("=", 1) for text in variables)


def _identity() -> str:
    """Return the paths of the running package and of its environment."""
    return f"{os.path.dirname(os.path.dirname(os.path.realpath(__file__)))}\n{sys.prefix}"


def _status(connection: socket.socket, signals: Signals) -> bytes:
    """Pass signals on until the job is over; return its status byte, none if the server died."""
    while True:
        ready, _, _ = select.select([connection.fileno(), signals.fileno()], [], [])
        if connection.fileno() in ready:
            return connection.recv(1)
        with suppress(OSError):  # the job has just ended
            connection.sendall(bytes(signals.take()))


def _start_server(folder: str) -> subprocess.Popen | None:
    """Start a server that has imported nothing yet; return None if its sockets cannot be made."""
    import subprocess

    listeners = [socket.socket(socket.AF_UNIX) for _ in STACKS]
    try:
        for listener, stack in zip(listeners, STACKS, strict=True):
            listener.bind(f"{folder}/{stack}")
            listener.listen(128)
        descriptors = [listener.fileno() for listener in listeners]
        code = f"from shiftbench.cli import forkserver; forkserver.serve(*{descriptors})"
        return subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            pass_fds=descriptors,
            start_new_session=True,  # signals of the terminal reach jobs through their clients
        )
    except OSError:  # such as a folder whose path is too long for a socket
        return None
    finally:
        for listener in listeners:
            listener.close()

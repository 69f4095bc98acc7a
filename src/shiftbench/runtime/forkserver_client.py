"""Warm servers: processes that have TensorFlow imported, and fork one child a job.

`python -m shiftbench warm -- COMMAND` runs COMMAND with SHIFTBENCH_WARM set to a folder
with one socket a stack. A job started below COMMAND sends its arguments, environment and
standard streams to the server of its stack (warm_server.py), which imports the stack on
the first request. Without a server a job runs where it is. Imports the standard library
only: every job passes here.
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
from contextlib import suppress
from pathlib import Path

from shiftbench.runtime import crash_report
from shiftbench.runtime.signals import Signals

FOLDER = "SHIFTBENCH_WARM"
STACKS = ("light", "tensorflow")
HOME = "home"
"""The file in that folder that says of which package and environment the servers are."""
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
"""The signals that reach a job through its client."""
LENGTH = 8
"""Bytes of the number that says how long a job's description is."""


def run(command: list[str]) -> int:
    """Runs a command with warm servers around it; its exit status (see stopping.py)."""
    from shiftbench.runtime import graceful_stop  # not above: a job has no use for psutil

    signals = Signals(*graceful_stop.SIGNALS, signal.SIGCHLD)
    folder = Path(tempfile.mkdtemp(prefix="shiftbench-"))
    (folder / HOME).write_text(_home())
    server = _start_server(folder)
    try:
        return graceful_stop.run(command, os.environ | {FOLDER: str(folder)}, signals)
    finally:
        if server:
            server.stdin.close()  # type: ignore[union-attr]  # the sign for the server to end
            server.wait()
        shutil.rmtree(folder)


def request(stack: str, arguments: list[str]) -> int | None:
    """Let a server run the job; return its exit status, or None if there is no server.

    Servers of another checkout or outside the job's container do not count. Sets signal handlers
    before it sends the job: a signal that comes before ends this process, and there is no job; one
    that comes later goes to the job, as soon as that exists. A job that has not installed handlers
    yet ends by the signal, as it would without a server: it has nothing to save that is not saved.
    """
    folder = os.environ.get(FOLDER)
    if not folder:
        return None
    with suppress(OSError):
        if Path(folder, HOME).read_text() != _home():
            return None
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(f"{folder}/{stack}")
    except OSError:
        return None
    status = b""
    with connection, suppress(ConnectionError):
        signals = Signals(*PASSED_ON)
        job = json.dumps([arguments, os.getcwd(), dict(os.environ)]).encode()
        socket.send_fds(connection, [len(job).to_bytes(LENGTH, "big")], [0, 1, 2])
        connection.sendall(job)
        status = _status(connection, signals)
    if not status:
        print("the warm server ended; start the workflow again", file=sys.stderr)
        return 1
    if status[0] > 128:
        crash_report.tell(arguments, status[0] - 128)
    return status[0]


def exit_status(status: int) -> int:
    """A process that a signal ended counts as 128 + signal, as in a shell."""
    return 128 - status if status < 0 else status


def _home() -> str:
    """Where the running shiftbench is, and the environment that it runs in."""
    return f"{Path(__file__).resolve().parents[1]}\n{sys.prefix}"


def _status(connection: socket.socket, signals: Signals) -> bytes:
    """Pass signals on until the job is over; the byte with its status, none if the server died."""
    while True:
        ready, _, _ = select.select([connection.fileno(), signals.fileno()], [], [])
        if connection.fileno() in ready:
            return connection.recv(1)
        with suppress(OSError):  # the job has just ended
            connection.sendall(bytes(signals.take()))


def _start_server(folder: Path) -> subprocess.Popen | None:
    """A server that has imported nothing yet; None if its sockets cannot be made."""
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

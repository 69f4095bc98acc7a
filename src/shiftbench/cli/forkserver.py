"""Fork server: a loop without threads that forks a child for each job.

Its client is `runtime.forkserver_client`. A child behaves like a new process: it imports shiftbench
itself, and it dies with its client and with the server. The server of the heavy stack is forked
from that of the light one at the first request. The server ends only when its standard input, a
pipe, is closed: a cluster sends signals to all processes when the time is over, and jobs need their
server while they save their state. So the server blocks these signals. A child begins with the same
mask and unblocks the signals when it can act on them; the kernel holds them until then.
"""

# ruff: noqa: F401  (imports for their effect: children need not repeat them)

from __future__ import annotations

import gc
import os
import select
import selectors
import shutil
import signal
import socket
import sys
import traceback
from contextlib import suppress
from typing import NoReturn

from shiftbench.core import shared_clusters
from shiftbench.runtime import forkserver_client
from shiftbench.runtime.forkserver_client import LENGTH, unpacked
from shiftbench.runtime.parent_death import die_with_parent
from shiftbench.runtime.signals import exit_status

STDIN, STDERR = 0, 2
Job = tuple[list[str], str, dict[str, str]]
"""The arguments, the folder and the environment of a job."""
HELD = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1)
"""Signals meant for jobs, which the server blocks."""


def serve(light: int, tensorflow: int) -> None:
    """Serve two listening sockets, given as descriptors, until standard input is closed."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
    first, heavier = socket.socket(fileno=light), socket.socket(fileno=tensorflow)
    waiting: list[socket.socket | int] = [first, heavier, STDIN]
    ready, _, _ = select.select(waiting, [], [])
    if STDIN in ready:
        _remove_folder(first)
    else:
        _preload_light()
        _Server(first, heavier).loop()


def _remove_folder(listener: socket.socket) -> None:
    """Remove the folder of a socket, which a client that was killed has left."""
    shutil.rmtree(os.path.dirname(listener.getsockname()), ignore_errors=True)


def _preload_light() -> None:
    """Import what jobs import, but nothing of shiftbench, whose files may change meanwhile."""
    import annotated_types
    import matplotlib.backends.backend_agg
    import matplotlib.backends.backend_svg
    import matplotlib.figure
    import numba
    import pandas
    import psutil
    import pydantic.type_adapter
    import scipy.optimize
    import scipy.stats
    import seaborn
    import sklearn.datasets
    import sklearn.svm
    import tqdm
    import xarray
    import zarr

    _load_numba()


def _load_numba() -> None:
    """Load what Numba loads before it compiles, or reads from its cache, the first function."""
    import numba.core.registry

    target = numba.core.registry.cpu_target
    target.typing_context.refresh()
    target.target_context.refresh()


def _preload_tensorflow() -> None:
    """Import TensorFlow but run no operation: its threads would not survive a fork."""
    # Without this, TensorFlow prints a warning on machines without a GPU.
    screen, nowhere = os.dup(STDERR), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, STDERR)
    try:
        import tensorflow
        import tensorflow_probability
    finally:
        os.dup2(screen, STDERR)
        os.close(screen)
        os.close(nowhere)


class _Server:
    """The event loop of one stack, over its sockets and children.

    heavier: the socket of the other stack, until its server is forked.
    """

    def __init__(self, listener: socket.socket, heavier: socket.socket | None = None) -> None:
        self.listener, self.heavier = listener, heavier
        self.children: dict[socket.socket, int] = {}
        self.selector = selectors.DefaultSelector()
        self.selector.register(STDIN, selectors.EVENT_READ, self.end)
        self.selector.register(listener, selectors.EVENT_READ, self.accept)
        if heavier:
            self.selector.register(heavier, selectors.EVENT_READ, self.branch)
        gc.collect()
        gc.freeze()  # else garbage collection in a child copies pages that it shares

    def loop(self) -> NoReturn:
        """Handle events until `end`."""
        while True:
            # One at a time: handling an event may close the socket of the next one.
            self.selector.select()[0][0].data()

    def end(self) -> NoReturn:
        """Kill all children and exit, because standard input was closed."""
        for child in self.children.values():
            _send(child, signal.SIGKILL)
        _remove_folder(self.listener)
        os._exit(0)

    def branch(self) -> None:
        """Fork the server of the heavy stack, and leave its socket to it."""
        assert self.heavier
        if os.fork() == 0:
            self._forget(keep=(STDIN, self.heavier))
            _preload_tensorflow()
            _Server(self.heavier).loop()
        self.selector.unregister(self.heavier)
        self.heavier.close()

    def accept(self) -> None:
        """Fork a child for a job."""
        connection, _ = self.listener.accept()
        try:
            job, streams = _receive(connection)
        except (OSError, ValueError):  # the client died at once
            connection.close()
            return
        alive, ended = os.pipe()
        server, child = os.getpid(), os.fork()
        if child == 0:
            die_with_parent(server)
            os.setpgid(0, 0)
            # `ended` stays open, unused, for as long as the child lives.
            os.close(alive)
            connection.close()
            self._forget()
            _work(job, streams)
        os.setpgid(child, child)
        for descriptor in (ended, *streams):
            os.close(descriptor)
        self.children[connection] = child
        self.selector.register(connection, selectors.EVENT_READ, lambda: self.hear(connection))
        self.selector.register(
            alive, selectors.EVENT_READ, lambda: self.finish(connection, child, alive)
        )

    def hear(self, connection: socket.socket) -> None:
        """Pass on the signals that the client received; kill the child of a dead client."""
        try:
            numbers = connection.recv(64)
        except ConnectionError:
            numbers = b""
        if not numbers:
            self.selector.unregister(connection)
        for number in numbers or [signal.SIGKILL]:
            _send(self.children[connection], number)

    def finish(self, connection: socket.socket, child: int, alive: int) -> None:
        """Send the client the exit status of its child."""
        _, status = os.waitpid(child, 0)
        del self.children[connection]
        self.selector.unregister(alive)
        os.close(alive)
        with suppress(KeyError):  # the client died
            self.selector.unregister(connection)
        with connection, suppress(OSError):
            connection.send(bytes([exit_status(os.waitstatus_to_exitcode(status))]))

    def _forget(self, keep: tuple = ()) -> None:
        """Close, in a fork, the files of the server and of its other clients."""
        files = [key.fileobj for key in self.selector.get_map().values()]
        self.selector.close()
        for file in [file for file in files if file not in keep]:
            if isinstance(file, socket.socket):
                file.close()
            else:
                os.close(file)  # type: ignore[arg-type]


def _send(child: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child, number)


def _receive(connection: socket.socket) -> tuple[Job, list[int]]:
    """Receive a job and the client's standard streams.

    Raises OSError or ValueError if the client died meanwhile.
    """
    head, streams, _, _ = socket.recv_fds(connection, LENGTH, 3)
    length, body = int.from_bytes(head, "big"), b""
    try:
        while len(body) < length:
            chunk = connection.recv(length - len(body))  # not beyond: signals follow the job
            if not chunk:
                raise ValueError("the job is incomplete")
            body += chunk
        return unpacked(body), streams
    except (OSError, ValueError):
        for descriptor in streams:
            os.close(descriptor)
        raise


def _work(job: Job, streams: list[int]) -> NoReturn:
    """Become, in a child, the process that the client stands for."""
    status = 1
    try:
        arguments, folder, environment = job
        for target, descriptor in enumerate(streams):
            os.dup2(descriptor, target)
            os.close(descriptor)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        os.environ[shared_clusters.VARIABLE] = environment[forkserver_client.VARIABLE]
        from shiftbench.cli.main import main

        status = main(arguments)
    except SystemExit as error:  # argparse
        status = error.code if isinstance(error.code, int) else 1
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)

"""Locks of scratch folders, so that two processes never write the checkpoints of one run.

A lock is a file beside the folder, which names the host, process and Slurm job of its owner. The
owner is alive if it holds its flock on the file. From another host that cannot be seen; there Slurm
says whether the owner's job still exists. Without Slurm, an owner that has not touched its file for
long counts as dead.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import platform
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from shiftbench.core.errors import UserError
from shiftbench.runtime import slurm

log = logging.getLogger("shiftbench")

BEAT_SECONDS = 20.0
STALE_SECONDS = 300.0
PATIENCE_SECONDS = 60.0
"""Seconds to wait for the owner: a job needs up to this long to end after a signal."""
POLL_SECONDS = 1.0


class Busy(UserError):
    """Another process keeps the lock; a later attempt may get it."""


@contextmanager
def locked(folder: Path, patience: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Lock a folder for the block. Raises Busy if another process keeps the lock."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    path = folder.with_name(f"{folder.name}.owner")
    deadline, logged = time.monotonic() + patience, False
    while (file := _acquire(path)) is None:
        owner = _describe_owner(path)
        if time.monotonic() > deadline:
            raise Busy(
                f"{folder}: {owner} works on this run; wait until it has ended, or end it,"
                " and start this one again"
            )
        if not logged:
            log.info("waiting for %s, which works on this run", owner)
        logged = True
        time.sleep(POLL_SECONDS)
    done = threading.Event()
    beats = threading.Thread(target=_heartbeat, args=(file, done), daemon=True)
    beats.start()
    try:
        yield
    finally:
        done.set()
        beats.join()
        _release(path, file)


def _acquire(path: Path) -> IO[str] | None:
    """Return our own lock file, open and locked; None while a living process has one there."""
    with _turn(path) as turn:
        os.utime(turn.fileno())
        if _is_alive(path, os.fstat(turn.fileno()).st_mtime):
            return None
        new = path.with_name(f"{path.name}.{platform.node()}")  # replaces that of a killed process
        file = new.open("w")
        fcntl.flock(file, fcntl.LOCK_EX)
        job = os.environ.get(slurm.JOB, "")
        file.write(json.dumps({"host": platform.node(), "process": os.getpid(), "job": job}))
        file.flush()
        os.replace(new, path)
        return file


def _release(path: Path, file: IO[str]) -> None:
    """Remove our lock, unless we counted as dead and another process has taken it over."""
    # A lock that stays has no living owner, once our file is closed.
    with file, suppress(OSError), _turn(path):
        if os.path.samestat(path.stat(), os.fstat(file.fileno())):
            path.unlink()


@contextmanager
def _turn(path: Path) -> Iterator[IO[str]]:
    """Let one process at a time check a lock, and take or remove it; give the file of turns."""
    with path.with_name("turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield turn


def _is_alive(path: Path, now: float) -> bool:
    """Return whether a lock has a living owner. now: the time of the file system's clock."""
    try:
        file = path.open()
    except FileNotFoundError:
        return False
    with file:
        touched = os.fstat(file.fileno()).st_mtime
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        owner = _read(file)
    if owner.get("host") == platform.node():
        return False
    if owner.get("job") and (state := slurm.state(owner["job"])) is not None:
        ours = owner["job"] == os.environ.get(slurm.JOB)  # our job was requeued to another node
        return state in slurm.AT_WORK and not ours
    return now - touched < STALE_SECONDS


def _read(file: IO[str]) -> dict:
    try:
        return json.load(file)
    except ValueError:  # the disk was full
        return {}


def _describe_owner(path: Path) -> str:
    try:
        with path.open() as file:
            owner = _read(file)
    except FileNotFoundError:
        return "a process that is just ending"
    job = f", Slurm job {owner['job']}" if owner.get("job") else ""
    return f"process {owner.get('process', '?')} on {owner.get('host', '?')}{job}"


def _heartbeat(file: IO[str], done: threading.Event) -> None:
    """Touch our lock now and then, so that others see that its owner is alive.

    By the open file: another process may have put its own in the place of ours.
    """
    while not done.wait(BEAT_SECONDS):
        try:
            os.utime(file.fileno())
        except OSError:
            return

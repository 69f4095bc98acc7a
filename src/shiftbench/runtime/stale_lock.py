"""Whose lock is it: so that the lock of a dead Snakemake is no lock.

Snakemake's lock is some files that do not say whose they are, and that stay when their owner
is killed. So every Snakemake that may take the lock first makes a file here, named after its
host and its process number, and holds an flock on it. The kernel ends the flock with the
process, however it dies; a process number alone may be another process's by now.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import platform
import shlex
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

_held: list[IO[str]] = []
"""Our own files, open until this process ends."""


class Owner(NamedTuple):
    """A Snakemake that may own the lock; file: what stands for it."""

    file: Path
    name: str
    here: bool
    """Whether it is on this host; of others it cannot be known whether they live."""
    lives: bool


def enter(snakemake: Path, say: Callable[[str], object]) -> None:
    """Removes the lock if all who may own it are dead, and enters this process as an owner.

    snakemake: Snakemake's own folder, .snakemake. say: gets a line about a lock that is there.
    On a file system without flock nothing happens, and Snakemake refuses every lock.
    """
    folder = (snakemake / "owners").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(OSError), _in_turn(folder):
        owners = _owners(folder)
        if any((snakemake / "locks").glob("*.lock")):
            _judge((snakemake / "locks").absolute(), folder, owners, say)
        for owner in owners:
            if owner.here and not owner.lives:
                owner.file.unlink()
        _add(folder)


def _judge(locks: Path, folder: Path, owners: list[Owner], say: Callable[[str], object]) -> None:
    """Says what is known of the owners of a lock; removes it if all are dead."""
    remedy = f"type: rm -r {shlex.quote(str(locks))} {shlex.quote(str(folder))}"
    for owner in owners:
        if not owner.here:
            say(f"This folder may be locked by Snakemake, {owner.name}; if that is dead, {remedy}")
        elif owner.lives:
            say(f"Snakemake works in this folder ({owner.name}); if it makes these files, wait")
    if not owners:
        say(f"It is not known who locked this folder; if Snakemake works here no more, {remedy}")
    elif not any(owner.lives or not owner.here for owner in owners):
        shutil.rmtree(locks)
        say(f"Snakemake was killed here ({owners[-1].name}); its lock is removed, its jobs go on")


def _owners(folder: Path) -> list[Owner]:
    """All that entered and did not leave, by the time when they entered."""
    found = []
    for file in folder.glob("*-*"):
        with suppress(FileNotFoundError):  # it leaves just now
            host, _, process = file.name.rpartition("-")
            entered = file.stat().st_mtime
            since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entered))
            name = f"process {process} on {host}, started at {since}"
            owner = Owner(file, name, host == platform.node(), _is_held(file))
            found.append((entered, owner))
    return [owner for _, owner in sorted(found)]


def _is_held(file: Path) -> bool:
    with file.open() as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _add(folder: Path) -> None:
    """A file for this process, which it removes when it ends."""
    path = folder / f"{platform.node()}-{os.getpid()}"
    file = path.open("w")
    fcntl.flock(file, fcntl.LOCK_EX)
    _held.append(file)
    atexit.register(path.unlink, missing_ok=True)


@contextmanager
def _in_turn(folder: Path) -> Iterator[None]:
    """One process at a time, so that nobody enters while another judges."""
    with (folder / "turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield

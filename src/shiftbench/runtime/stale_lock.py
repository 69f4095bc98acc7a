"""Removal of the lock that a killed Snakemake has left behind.

Snakemake's lock consists of files that do not name their owner, and that stay when it is killed. So
every Snakemake that may take the lock first creates a file here, named after its host and process
number, and holds an flock on it. The kernel ends the flock with the process, however it dies; the
process number alone may by then be that of another process.
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
    """A Snakemake that may own the lock, and its file."""

    file: Path
    name: str
    here: bool
    """Whether it is on this host; for other hosts it is unknown whether the owner is alive."""
    alive: bool


def enter(snakemake: Path, say: Callable[[str], object]) -> None:
    """Remove the lock if all its possible owners are dead, and register this process as an owner.

    snakemake: Snakemake's folder, .snakemake. say: gets messages about an existing lock. On a file
    system without flock nothing happens, and Snakemake refuses every lock.
    """
    folder = (snakemake / "owners").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(OSError), _in_turn(folder):
        owners = _owners(folder)
        if any((snakemake / "locks").glob("*.lock")):
            _check((snakemake / "locks").absolute(), folder, owners, say)
        for owner in owners:
            if owner.here and not owner.alive:
                owner.file.unlink()
        _add(folder)


def _check(locks: Path, folder: Path, owners: list[Owner], say: Callable[[str], object]) -> None:
    """Report the owners of a lock; remove it if all are dead."""
    remedy = f"type: rm -r {shlex.quote(str(locks))} {shlex.quote(str(folder))}"
    for owner in owners:
        if not owner.here:
            say(f"This folder may be locked by Snakemake, {owner.name}; if that is dead, {remedy}")
        elif owner.alive:
            say(f"Snakemake works in this folder ({owner.name}); if it makes these files, wait")
    if not owners:
        say(f"It is unknown who locked this folder; if Snakemake no longer works here, {remedy}")
    elif not any(owner.alive or not owner.here for owner in owners):
        shutil.rmtree(locks)
        say(f"Snakemake was killed here ({owners[-1].name}); its lock is removed, its jobs go on")


def _owners(folder: Path) -> list[Owner]:
    """Return the registered owners that have not left, by their time of registration."""
    owners = []
    for file in folder.glob("*-*"):
        with suppress(FileNotFoundError):  # the owner has just left
            host, _, process = file.name.rpartition("-")
            registered = file.stat().st_mtime
            since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(registered))
            name = f"process {process} on {host}, started at {since}"
            owner = Owner(file, name, host == platform.node(), _is_held(file))
            owners.append((registered, owner))
    return [owner for _, owner in sorted(owners)]


def _is_held(file: Path) -> bool:
    with file.open() as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _add(folder: Path) -> None:
    """Create a file for this process, which is removed when it ends."""
    path = folder / f"{platform.node()}-{os.getpid()}"
    file = path.open("w")
    fcntl.flock(file, fcntl.LOCK_EX)
    _held.append(file)
    atexit.register(path.unlink, missing_ok=True)


@contextmanager
def _in_turn(folder: Path) -> Iterator[None]:
    """Run the block in one process at a time, so that none registers while another checks."""
    with (folder / "turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield

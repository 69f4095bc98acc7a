"""Whose scratch folder is it: two processes never write the checkpoints of one run.

The owner is a file beside the folder, which says host, process and Slurm job. The owner lives if
it holds its flock on the file. Where that cannot be seen, from another host, Slurm says whether
its job is still there; without Slurm, an owner is dead that has not touched its file for long.
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
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from shiftbench.core.errors import UserError
from shiftbench.runtime import slurm

log = logging.getLogger("shiftbench")

BEAT_SECONDS = 20.0
STALE_SECONDS = 300.0
PATIENCE_SECONDS = 60.0
"""A job that was told to end may take so long, and the next one waits for it."""
POLL_SECONDS = 1.0


@contextmanager
def owned(folder: Path, patience: float = PATIENCE_SECONDS) -> Iterator[None]:
    """While it is entered, the folder is ours. UserError where another process keeps it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    place = folder.with_name(f"{folder.name}.owner")
    until, told = time.monotonic() + patience, False
    while (taken := _take(place)) is None:
        owner = _described(place)
        if time.monotonic() > until:
            raise UserError(
                f"{folder}: {owner} works on this run; wait until it has ended, or end it,"
                " and start this one again"
            )
        if not told:
            log.info("waiting for %s, which works on this run", owner)
        told = True
        time.sleep(POLL_SECONDS)
    done = threading.Event()
    threading.Thread(target=_beat, args=(place, done), daemon=True).start()
    try:
        yield
    finally:
        done.set()
        place.unlink(missing_ok=True)
        taken.close()


def _take(place: Path) -> IO[str] | None:
    """Our own file, open and locked; None while a living process has one there."""
    with place.with_name("turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # one at a time judges, and then takes
        os.utime(turn.fileno())
        if place.exists() and _lives(place, os.fstat(turn.fileno()).st_mtime):
            return None
        new = place.with_name(f"{place.name}.{platform.node()}")  # replaces that of a killed one
        file = new.open("w")
        fcntl.flock(file, fcntl.LOCK_EX)
        job = os.environ.get(slurm.JOB, "")
        file.write(json.dumps({"host": platform.node(), "process": os.getpid(), "job": job}))
        file.flush()
        os.replace(new, place)
        return file


def _lives(place: Path, now: float) -> bool:
    """Whether the owner of a file lives. now: the time, by the clock of the file system."""
    with place.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        owner = _read(file)
    if owner.get("host") == platform.node():
        return False
    if owner.get("job") and (state := slurm.state(owner["job"])) is not None:
        ours = owner["job"] == os.environ.get(slurm.JOB)  # it was requeued, to another node
        return state in slurm.AT_WORK and not ours
    return now - place.stat().st_mtime < STALE_SECONDS


def _read(file: IO[str]) -> dict:
    try:
        return json.load(file)
    except ValueError:  # the disk was full
        return {}


def _described(place: Path) -> str:
    try:
        with place.open() as file:
            owner = _read(file)
    except FileNotFoundError:
        return "a process that ends just now"
    job = f", Slurm job {owner['job']}" if owner.get("job") else ""
    return f"process {owner.get('process', '?')} on {owner.get('host', '?')}{job}"


def _beat(place: Path, done: threading.Event) -> None:
    """Touches the file, so that others see that we live."""
    while not done.wait(BEAT_SECONDS):
        try:
            os.utime(place)
        except OSError:
            return

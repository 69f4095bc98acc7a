"""Scratch folders beside outputs, which the next attempt removes if a job was killed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def beside(output: Path, purpose: str = "new") -> Iterator[Path]:
    """Yield an empty folder on the disk of `output`, and remove it afterwards.

    It has the same name every time, so that the next attempt removes the rest of a killed one.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    folder = output.with_name(f".{output.name}.{purpose}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def replace(folder: Path, new: Path) -> None:
    """Move a new folder out of a scratch folder; it replaces the folder at its place, if any.

    The old folder then is in the scratch folder. If the new one cannot be moved, the old one is put
    back.
    """
    old = new.with_name(f"{new.name}.old")
    try:
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
    except BaseException:
        if old.exists() and not folder.exists():
            old.rename(folder)
        raise

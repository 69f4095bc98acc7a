"""Scratch folders beside output files, which the next attempt removes if a job was killed."""

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

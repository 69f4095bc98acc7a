"""Scratch folders beside files to come, which a killed attempt does not leave for ever."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def beside(output: Path, purpose: str = "new") -> Iterator[Path]:
    """An empty folder on the disk of `output`, gone afterwards.

    It has the same name every time, so the next attempt removes what a killed one left.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    folder = output.with_name(f".{output.name}.{purpose}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)

"""Checkpoints: named arrays and a few JSON values in one file, safe against a kill.

A save writes a new generation and renames it into place; the two newest are kept, so that
a damaged file costs one step back and no more. The format is NumPy's .npz without pickles.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import shutil
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

GENERATIONS = 2
DAMAGED = (
    zipfile.BadZipFile, zlib.error, EOFError, ValueError, LookupError, TypeError, RuntimeError,
    OverflowError,
)  # fmt: skip
"""Errors of `read` for a damaged file; NotImplementedError is a RuntimeError."""
_META = "meta.json"
_log = logging.getLogger(__name__)


def save(folder: Path, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> None:
    """Write a new generation to `folder`; only the newest two are kept.

    meta: values that JSON can hold. ValueError for an array of objects.
    """
    folder.mkdir(parents=True, exist_ok=True)
    present = _generations(folder)
    number = _number(present[0]) + 1 if present else 0
    temporary = folder / f"{number:08d}.tmp"
    try:
        with temporary.open("wb") as file:
            write(file, arrays, meta)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, folder / f"{number:08d}.npz")
    finally:
        temporary.unlink(missing_ok=True)  # only where the disk is full
    _sync(folder)
    for path in _generations(folder)[GENERATIONS:]:
        path.unlink()


def load(folder: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
    """Return arrays and meta data of the newest undamaged generation, None if there is none.

    A damaged generation is deleted, so that it does not count as one of the two that are kept.
    """
    for path in _generations(folder):
        try:
            return read(path)
        except DAMAGED as error:
            _log.warning("checkpoint %s is damaged (%s): an older one is tried", path, error)
            path.unlink()
    return None


def remove(folder: Path) -> None:
    """Delete the folder with all its generations, if it exists."""
    if folder.exists():
        shutil.rmtree(folder)


def _generations(folder: Path) -> list[Path]:
    """Return the files of finished generations, newest first."""
    return sorted(folder.glob("*.npz"), key=_number, reverse=True)


def _number(path: Path) -> int:
    return int(path.stem)


def write(
    file: Path | IO[bytes], arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]
) -> None:
    """Write arrays and meta data to one file. ValueError for an array of objects."""
    # np.savez would reserve some names, and pickle objects.
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_META, json.dumps(meta))
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asanyarray(array), allow_pickle=False)


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return arrays and meta data of a file. One of DAMAGED if it is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _arrays(archive), json.loads(archive.read(_META))
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):  # a fault of the disk, not of the content
            raise
        raise zipfile.BadZipFile(str(error)) from error  # an offset below zero


def _arrays(archive: zipfile.ZipFile) -> dict[str, np.ndarray]:
    arrays = {}
    for entry in archive.infolist():
        if entry.comment:  # `write` makes none: a wrong length, which hides the entries after it
            raise zipfile.BadZipFile(f"{entry.filename} has a comment")
        if entry.filename != _META:
            with archive.open(entry) as file:
                array = np.lib.format.read_array(file, allow_pickle=False)
                file.read()  # to the end of the entry, where its checksum is compared
            arrays[entry.filename.removesuffix(".npy")] = array
    return arrays


def _sync(folder: Path) -> None:
    """Make the rename outlive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

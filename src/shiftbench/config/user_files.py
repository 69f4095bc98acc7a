"""Files that a user brings: what the settings of a stream name, and what is in it.

A family with a setting `path` reads the file or folder that it names, relative to the file that
says so; `annotations`, where it is a text, names another. What runs depend on is the content, by
checksums, and the name, but not where it lies.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shiftbench.data.store.user_folder import files

KEY = "path"
KEYS = (KEY, "annotations")
CHECKSUM = "sha256"


def placed(settings: Mapping[str, Any], key: str, folder: Path) -> dict[str, Any]:
    """The settings of a stream with the path of a key from where we are."""
    return {**settings, key: os.path.relpath(folder / Path(settings[key]).expanduser())}


def named(settings: Mapping[str, Any]) -> dict[str, Path]:
    """The files or folders that a stream names, by the key that does."""
    found = {key: settings.get(key) for key in KEYS}
    return {key: Path(path) for key, path in found.items() if isinstance(path, str) and path}


def problems(settings: Mapping[str, Any], key: str, folder: Path) -> Iterator[tuple[str, str]]:
    """What is wrong with the file that a key names, as (key, message)."""
    path = folder / Path(settings[key]).expanduser()
    if not path.exists():
        yield key, f"there is no {path}; a path is relative to the file that it is written in"
    elif not (found := files(path)):
        yield key, f"the folder {path} is empty"
    elif not all(os.access(file, os.R_OK) for file in found):
        unreadable = next(file for file in found if not os.access(file, os.R_OK))
        yield key, f"{unreadable} cannot be read: its permissions forbid it"
    elif key == KEY and (wanted := settings.get(CHECKSUM)) and wanted != (is_now := checksum(path)):
        yield CHECKSUM, f"{path} has the sha256 {is_now}, not {wanted}: it is another file"


def checksums(path: Path) -> dict[str, str]:
    """The sha256 (hexadecimal) of each file, by its path below the folder, or by its name."""
    folder = path if path.is_dir() else path.parent
    return {_below(file, folder).as_posix(): _sha256(file) for file in files(path)}


def checksum(path: Path) -> str:
    """The sha256 of a file; of a folder, of the lines that sha256sum prints of its files."""
    if not path.is_dir():
        return _sha256(path)
    lines = [f"{found}  {name}\n" for name, found in checksums(path).items()]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _below(file: Path, folder: Path) -> Path:
    return file.relative_to(folder)


def _sha256(file: Path) -> str:
    status = file.stat()
    return _sha256_of(file.resolve(), status.st_size, status.st_mtime_ns)


@functools.cache
def _sha256_of(file: Path, size: int, changed: int) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()

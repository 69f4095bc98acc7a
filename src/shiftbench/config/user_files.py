"""The user's data files, which the settings of a stream name, and their checksums.

A family with a setting `path` reads the file or folder of that path, relative to the config file;
`annotations`, if it is a text, names another. Runs depend on the content, by checksums, and on the
name, but not on the folder.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shiftbench.data.store.checksum import sha256
from shiftbench.data.store.user_folder import files

KEY = "path"
KEYS = (KEY, "annotations")
CHECKSUM = "sha256"


def placed(settings: Mapping[str, Any], key: str, folder: Path) -> dict[str, Any]:
    """Return a stream's settings with the path under a key relative to the working directory."""
    return {**settings, key: os.path.relpath(_place(settings, key, folder))}


def named(settings: Mapping[str, Any]) -> dict[str, Path]:
    """Return the files or folders that a stream names, by key."""
    paths = {key: settings.get(key) for key in KEYS}
    return {key: Path(path) for key, path in paths.items() if isinstance(path, str) and path}


def issues(settings: Mapping[str, Any], key: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Check the file or folder under a key; yield keys with messages."""
    path = _place(settings, key, folder)
    if not path.exists():
        yield key, f"there is no {path}; a path is relative to the file that it is written in"
        return
    if not (path.is_file() or path.is_dir()):
        yield key, f"{path} is a pipe or a device; name a file or a folder"
        return
    try:
        contents = files(path)
    except OSError as error:
        yield key, f"the folder {path} cannot be listed ({error}); name one with your data alone"
        return
    if not contents:
        yield key, f"the folder {path} is empty; put files into it, or name another"
    elif unreadable := [file for file in contents if not os.access(file, os.R_OK)]:
        yield key, f"{unreadable[0]} cannot be read: its permissions forbid it"
    elif key == KEY and (wanted := settings.get(CHECKSUM)) and wanted != (is_now := checksum(path)):
        yield CHECKSUM, f"{path} has the sha256 {is_now}, not {wanted}: it is another file"


def _place(settings: Mapping[str, Any], key: str, folder: Path) -> Path:
    # Unlike Path.expanduser, this leaves the "~" of an unknown user as it is.
    return folder / os.path.expanduser(settings[key])


def checksums(path: Path) -> dict[str, str]:
    """Return the sha256 (hexadecimal) of each file by its path in the folder, or by its name."""
    folder = path if path.is_dir() else path.parent
    return {file.relative_to(folder).as_posix(): _sha256(file) for file in files(path)}


def checksum(path: Path) -> str:
    """Return the sha256 of a file; for a folder, of what sha256sum prints for its files."""
    if not path.is_dir():
        return _sha256(path)
    lines = [f"{digest}  {name}\n" for name, digest in checksums(path).items()]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _sha256(file: Path) -> str:
    status = file.stat()
    return _sha256_of(file.resolve(), status.st_size, status.st_mtime_ns)


@functools.cache
def _sha256_of(file: Path, size: int, changed: int) -> str:
    return sha256(file)

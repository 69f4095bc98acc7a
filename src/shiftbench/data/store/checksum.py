"""The checksum of a file, written beside it by the job that made it, to detect later changes.

`.NAME.sha256` holds the line that sha256sum prints, so that `sha256sum --check` reads it too. A
file without one is not checked: it may come from elsewhere.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from shiftbench.core import atomic_files
from shiftbench.core.errors import UserError

SUFFIX = ".sha256"
OFF = "SHIFTBENCH_NO_SEALS"
"""Environment variable that turns checksums off, for files that are copies of remote ones, which
another job may change."""


def write(*paths: Path) -> None:
    """Write the checksums of files as they are now."""
    if os.environ.get(OFF):
        return
    for path in paths:
        atomic_files.write(_place(path), line(path.name, path))


def is_broken(path: Path) -> bool:
    """Return whether a file was changed or removed since its checksum was written."""
    try:
        written = _place(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return not path.is_file() or written != line(path.name, path)


def is_there(path: Path) -> bool:
    """Return whether a file has its checksum beside it."""
    return _place(path).is_file()


def sealed(path: Path) -> str | None:
    """Return the checksum that a job wrote beside a file; None without one.

    Anything but the line that sha256sum prints is returned whole, and so equals no checksum.
    """
    place = _place(path)
    if not place.is_file():
        return None
    text = place.read_text(encoding="utf-8", errors="replace")
    return text.removesuffix(f"  {path.name}\n")


def with_one(folder: Path) -> set[Path]:
    """Return the files below a folder that have a checksum beside them, also if they are gone."""
    found = folder.rglob(f".*{SUFFIX}")
    return {place.with_name(place.name[1:].removesuffix(SUFFIX)) for place in found}


def refuse_broken(*paths: Path) -> None:
    """Raise UserError, with the names of the files, if files changed since a job made them."""
    broken = [str(path) for path in paths if path.is_file() and is_broken(path)]
    if broken:
        raise UserError(
            f"{', '.join(broken)}: changed since the workflow made it, by hand or by a damaged"
            " disk. Nothing is built upon it; delete the file and start the workflow again to"
            " rebuild it."
        )


def line(name: str, path: Path) -> str:
    """Return the line that sha256sum prints for a file, with this name."""
    return f"{sha256(path)}  {name}\n"


def sha256(path: Path) -> str:
    """Return the SHA-256 checksum of a file, hexadecimal."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _place(path: Path) -> Path:
    return path.with_name(f".{path.name}{SUFFIX}")

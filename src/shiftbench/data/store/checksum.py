"""The checksum of a file, kept beside it by the job that made it: later changes are noticed.

`.NAME.sha256` holds the line that sha256sum prints, so `sha256sum --check` reads it too. What
has no seal is not checked: it may come from elsewhere.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from shiftbench.core.errors import UserError

OFF = "SHIFTBENCH_NO_SEALS"
"""Environment variable: files are copies of a storage's, where another job may change them."""


def write(*paths: Path) -> None:
    """Seals files as they are now."""
    if os.environ.get(OFF):
        return
    for path in paths:
        place = _place(path)
        scratch = place.with_name(f"{place.name}.new")
        scratch.write_text(line(path.name, path), encoding="utf-8")
        os.replace(scratch, place)


def is_broken(path: Path) -> bool:
    """Whether a file was changed, or is gone, since it was sealed."""
    try:
        sealed = _place(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return not path.is_file() or sealed != line(path.name, path)


def refuse_broken(*paths: Path) -> None:
    """UserError that names the files that are not what a job made."""
    broken = [str(path) for path in paths if path.is_file() and is_broken(path)]
    if broken:
        raise UserError(
            f"{', '.join(broken)}: changed since the workflow made it, by hand or by a damaged"
            " disk. Nothing is built upon it; delete the file and start the workflow again, which"
            " makes it anew."
        )


def line(name: str, path: Path) -> str:
    """The checksum of a file as sha256sum prints it, under a name."""
    return f"{sha256(path)}  {name}\n"


def sha256(path: Path) -> str:
    """The checksum of a file, hexadecimal."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _place(path: Path) -> Path:
    return path.with_name(f".{path.name}.sha256")

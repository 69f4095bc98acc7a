"""Listing of a user's folder."""

from __future__ import annotations

from pathlib import Path


def files(path: Path) -> list[Path]:
    """Return the file itself, or all files of a folder but hidden ones, in the order of names."""
    if not path.is_dir():
        return [path]
    below = (file for file in path.rglob("*") if file.is_file())
    visible = [file for file in below if not is_hidden(file.relative_to(path))]
    return sorted(visible, key=lambda file: file.relative_to(path).as_posix())


def is_hidden(path: Path) -> bool:
    """Return whether a part of a relative path starts with a dot."""
    return any(part.startswith(".") for part in path.parts)

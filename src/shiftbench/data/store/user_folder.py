"""What is in a folder that somebody else filled."""

from __future__ import annotations

from pathlib import Path


def files(path: Path) -> list[Path]:
    """The file itself, or all files of a folder in the order of their names, hidden ones apart."""
    if not path.is_dir():
        return [path]
    below = (file for file in path.rglob("*") if file.is_file())
    seen = [file for file in below if not any(map(_hidden, file.relative_to(path).parts))]
    return sorted(seen, key=lambda file: file.relative_to(path).as_posix())


def _hidden(name: str) -> bool:
    return name.startswith(".")

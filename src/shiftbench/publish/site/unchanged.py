"""Whether pages are still those of the present results, so that a run need not write them again.

A file is unchanged if its path, size and modification time are the same. That is checked for the
results, the configs and libraries that were read, the user's components, this package, and the
pages themselves.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from shiftbench.config import components, yaml_lines
from shiftbench.core import atomic_files, checkout

RECORD = ".made-from.json"
"""File of a site with the states of what it was made from, and of its own files."""
BYTECODE = "__pycache__"
APART = {"site", "logs", "scratch"}
"""Folders of the results that no page shows."""


def made_from(results: Path) -> str:
    """Return the state of all that the pages of these results depend on.

    The config must have been read: the YAML files count that this process has read so far.
    """
    folders = [path for path in sorted(results.iterdir()) if path.is_dir()]
    installed = Path(sysconfig.get_path("purelib"))
    return _state(
        [
            *yaml_lines.paths_read(),
            *(file for one in folders if one.name not in APART for file in _below(one)),
            *(file for one in components.users().values() for file in _below(one)),
            *_below(checkout.PACKAGE),
            *_below(checkout.CONFIGS),
            *(checkout.HOME / "docs").glob("*.yaml"),
            installed,  # its time changes with the installed packages
        ],
        sys.version,
    )


def holds(site: Path, state: str) -> bool:
    """Return whether pages were made from this state, and are all as they were written."""
    try:
        record = json.loads((site / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(record == {"from": state, "pages": _of_pages(site)})


def record(site: Path, state: str) -> None:
    """Note in a site what it was made from."""
    atomic_files.write(site / RECORD, json.dumps({"from": state, "pages": _of_pages(site)}))


def _of_pages(site: Path) -> str:
    return _state(path for path in _below(site) if path.name != RECORD)


def _below(folder: Path) -> list[Path]:
    """Return the files below a folder and below links in it, without bytecode."""
    found, seen = [], set()
    for place, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(place)
        if real in seen or os.path.basename(place) == BYTECODE:
            folders.clear()  # a link may lead back
            continue
        seen.add(real)
        found += [Path(place, name) for name in names]
    return found


def _state(paths: Iterable[Path], more: str = "") -> str:
    """Return a digest of the paths with the sizes and times of their files."""
    lines = {f"{path}\n{_status(path)}" for path in paths}
    return hashlib.sha256("\n".join([more, *sorted(lines)]).encode(errors="replace")).hexdigest()


def _status(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:  # such as a link to nothing
        return None
    return status.st_size, status.st_mtime_ns

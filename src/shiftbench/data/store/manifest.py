"""The manifest of a folder of results: the checksum, size and times of all that jobs have made.

A job writes only the checksum beside each of its files, so that any number of jobs may end at once.
The process that starts them collects the checksums here, so that it notices when somebody deletes a
file or a checksum. A file with the same size and times need not be read again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from shiftbench.core import atomic_files

NAME = "manifest.json"


class Entry(NamedTuple):
    """The record of one file.

    modified, changed: the file's mtime and ctime, in nanoseconds; users cannot set the second.
    made_with: digest of the spec of its job; empty where it is not known.
    """

    sha256: str
    bytes: int
    modified: int
    changed: int
    made_with: str = ""

    def is_as_left(self, status: os.stat_result) -> bool:
        """Return whether a file with this status has not been touched since."""
        return (self.bytes, self.modified, self.changed) == _signs(status)


def entry(sha256: str, status: os.stat_result, made_with: str = "") -> Entry:
    """Return the entry of a file by its status."""
    return Entry(sha256, *_signs(status), made_with)


def read(results: Path) -> dict[str, Entry]:
    """Return the entries by path below the folder; empty where there is no manifest to read."""
    try:
        found = json.loads((results / NAME).read_text(encoding="utf-8"))
        return {name: Entry(**fields) for name, fields in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def write(results: Path, entries: Mapping[str, Entry]) -> None:
    """Write the manifest, unless it is the same."""
    if entries and entries != read(results):
        fields = {name: one._asdict() for name, one in entries.items()}
        atomic_files.write(results / NAME, json.dumps(fields, indent=0, sort_keys=True) + "\n")


def _signs(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns

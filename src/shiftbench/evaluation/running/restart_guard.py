"""Attempts at a run: one that was stopped is no failure, as long as each gets further.

Beside the checkpoint stands where the run was when it was last stopped.
"""

from __future__ import annotations

import json
from pathlib import Path

from shiftbench.core import atomic_files
from shiftbench.data.store import checkpoint

FILE = "stopped.json"


def has_advanced(scratch: Path) -> bool:
    """Whether the run has got further than when it was last stopped; notes where it is now."""
    here, place = _position(scratch), scratch / FILE
    before = place.read_text() if place.is_file() else ""
    if here == before:
        return False
    atomic_files.write(place, here)
    return True


def _position(scratch: Path) -> str:
    """The next task, and the epoch and step of each loop within it; empty before a checkpoint."""
    found = checkpoint.load(scratch)
    if found is None:
        return ""
    _, meta = found
    return json.dumps([meta["next_task"], sorted(meta["loops"].items())])

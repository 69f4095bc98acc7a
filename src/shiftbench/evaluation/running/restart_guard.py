"""A guard against endless restarts: a stopped run is not a failure as long as it advances.

The position at which the run was last stopped is kept beside its checkpoint.
"""

from __future__ import annotations

import json
from pathlib import Path

from shiftbench.core import atomic_files
from shiftbench.data.store import checkpoint

FILE = "stopped.json"


def has_advanced(scratch: Path) -> bool:
    """Return whether the run has advanced since it was last stopped; keep its position.

    True at the first stop, which may come before the first checkpoint.
    """
    position, file = _position(scratch), scratch / FILE
    if file.is_file() and file.read_text() == position:
        return False
    atomic_files.write(file, position)
    return True


def _position(scratch: Path) -> str:
    """Return the next task, its looks, and epoch and step of its loops.

    Empty before a checkpoint.
    """
    saved = checkpoint.load(scratch)
    if saved is None:
        return ""
    _, meta = saved
    return json.dumps([meta["next_task"], meta.get("looks", 0), sorted(meta["loops"].items())])

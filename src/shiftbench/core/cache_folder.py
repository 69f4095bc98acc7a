"""A folder for the caches of programs, where the home folder cannot be written.

Snakemake ends with a traceback without one, and matplotlib reads all fonts again in each process.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from functools import cache

VARIABLE = "XDG_CACHE_HOME"


def path() -> str:
    """Return the user's folder for caches, or a temporary one where that cannot be written."""
    named = usual()
    return named if _is_usable(named) else _made_temporary()


def variables() -> dict[str, str]:
    """Return environment variables that name a temporary folder; empty if the usual one serves."""
    folder = path()
    if folder == (os.environ.get(VARIABLE) or usual()):
        return {}
    return {VARIABLE: folder, "MPLCONFIGDIR": os.environ.get("MPLCONFIGDIR", folder)}


def usual() -> str:
    """Return the user's folder for caches, whether it can be written or not."""
    named = os.environ.get(VARIABLE, "")
    # A relative path is invalid by the standard of XDG.
    return named if os.path.isabs(named) else os.path.expanduser("~/.cache")


def temporary() -> str:
    """Return the temporary folder: the same one in later runs, which find compiled code there."""
    return f"{tempfile.gettempdir()}/shiftbench-{os.getuid()}"


@cache
def _made_temporary() -> str:
    folder = temporary()
    if _is_usable(folder) and os.stat(folder).st_uid == os.getuid():
        return folder
    return tempfile.mkdtemp(prefix="shiftbench-")


def _is_usable(folder: str) -> bool:
    with suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
    return os.access(folder, os.W_OK | os.X_OK)

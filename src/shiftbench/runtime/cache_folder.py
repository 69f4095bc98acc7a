"""A folder for the caches of programs, where the home folder cannot be written.

Snakemake ends with a traceback without one, and matplotlib reads all fonts again in each process.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress

VARIABLE = "XDG_CACHE_HOME"


def variables() -> dict[str, str]:
    """Return the variables that name another folder; empty where the usual one can be written."""
    usual = os.environ.get(VARIABLE) or os.path.expanduser("~/.cache")
    if _is_usable(usual):
        return {}
    # The same one in later runs, which find compiled code there.
    folder = f"{tempfile.gettempdir()}/shiftbench-{os.getuid()}"
    if not (_is_usable(folder) and os.stat(folder).st_uid == os.getuid()):
        folder = tempfile.mkdtemp(prefix="shiftbench-")
    return {VARIABLE: folder, "MPLCONFIGDIR": os.environ.get("MPLCONFIGDIR", folder)}


def _is_usable(folder: str) -> bool:
    with suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
    return os.access(folder, os.W_OK | os.X_OK)

"""Where numba keeps what it has compiled: one folder for each state of the sources.

numba looks only at the file of a function for whether it has changed, and not at functions
that it calls in other files, so that a change of those would go unnoticed.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

FOLDERS = ("combinators", "learners", "posteriors", "streams")
"""Those that hold compiled functions."""


def keep_by_source() -> None:
    """Tells numba where to keep compiled code, whether it has been imported yet or not."""
    here = Path(__file__).parent
    files = sorted(file for folder in FOLDERS for file in (here / folder).glob("*.py"))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    cache = str(here / "__pycache__" / f"compiled-{digest[:16]}")
    os.environ["NUMBA_CACHE_DIR"] = cache
    if "numba" in sys.modules:  # as in the child of a warm server
        sys.modules["numba"].config.CACHE_DIR = cache

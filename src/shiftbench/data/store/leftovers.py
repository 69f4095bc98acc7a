"""Files that writers of `core.atomic_files` left beside an output, because they were killed.

Their names are random, so that no writer finds those of another. The next attempt at the same job,
which alone makes these outputs, removes them.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable
from pathlib import Path

ENDING = re.compile(r"\.[0-9a-f]{12}\.new")


def remove(outputs: Iterable[Path]) -> None:
    """Remove what killed writers of these files, and of their checksums, left beside them."""
    for output in outputs:
        for name in (f".{output.name}", f"..{output.name}.sha256"):
            for path in output.parent.glob(f"{glob.escape(name)}.*.new"):
                if ENDING.fullmatch(path.name.removeprefix(name)):
                    path.unlink(missing_ok=True)

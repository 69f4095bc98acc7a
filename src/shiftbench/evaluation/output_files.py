"""Write several files of one artefact together.

If a writer fails, none of the files is replaced. Each is replaced at once, but one after the other:
a process killed in between leaves new files beside old ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def write_together(stem: Path, writers: Mapping[str, Callable[[Path], Any]]) -> None:
    """Write STEM.KIND with the writer of each kind; replace no file before all are written."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    scratch = {kind: stem.with_name(f".{stem.name}.new.{kind}") for kind in writers}
    try:
        for kind, write in writers.items():
            write(scratch[kind])
        for kind, path in scratch.items():
            os.replace(path, stem.with_name(f"{stem.name}.{kind}"))
    finally:
        for path in scratch.values():
            path.unlink(missing_ok=True)

"""Small files of text and JSON, written completely or left untouched."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from shiftbench.core.errors import UserError


def read_json(path: Path) -> Any:
    """Return the content of a JSON file. Raises UserError if it is not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(
            f"{path} is not valid JSON ({error}). Delete the file and start the workflow again."
        ) from None


def write(path: Path, text: str) -> None:
    """Write text to a file, with its folders, by renaming a finished copy.

    Threads, and processes on several nodes, may write the same file: each has its own copy.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.urandom(6).hex()}.new")
    try:
        # Not by tempfile, whose files other users cannot read.
        scratch.write_text(text, encoding="utf-8")
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)

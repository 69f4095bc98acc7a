"""Small files of text and JSON, written whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from shiftbench.core.errors import UserError


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(
            f"{path}: no JSON ({error}). Delete the file and start the workflow again."
        ) from None


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.new")
    try:
        scratch.write_text(text, encoding="utf-8")
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)

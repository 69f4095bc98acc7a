"""What stores of zarr say about themselves, read without their arrays."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from shiftbench.errors import UserError

SUFFIX = ".zarr.zip"


def attributes(path: Path) -> dict[str, Any]:
    """The attributes of a store. UserError where the file is no store."""
    try:
        with zipfile.ZipFile(path) as archive:
            return json.loads(archive.read("zarr.json"))["attributes"]
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise UserError(f"{path}: this is no store of shiftbench ({error})") from None


def spec(path: Path) -> dict[str, Any]:
    """The spec that a store was made from."""
    return json.loads(attributes(path)["spec"])


def below(folder: Path) -> list[Path]:
    """All stores of a folder, sorted by name."""
    return sorted(path for path in folder.rglob(f"*{SUFFIX}") if not path.name.startswith("."))

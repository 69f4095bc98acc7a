"""What stores of zarr say about themselves, read without their arrays."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from shiftbench.config import spec_files
from shiftbench.core.errors import UserError

SUFFIX = ".zarr.zip"
METADATA = "zarr.json"


def attributes(path: Path) -> dict[str, Any]:
    """The attributes of a store. UserError where the file is no store."""
    return _nodes(path)[METADATA]["attributes"]


def arrays(path: Path) -> dict[str, dict[str, Any]]:
    """What zarr says of each array of a store, by its path in it; errors as for `attributes`."""
    nodes = _nodes(path).items()
    found = {name: node for name, node in nodes if node["node_type"] == "array"}
    return {name.removesuffix(f"/{METADATA}"): found[name] for name in sorted(found)}


def spec(path: Path) -> dict[str, Any]:
    """The spec that a store was made from."""
    return spec_files.parsed(attributes(path)["spec"])


def below(folder: Path) -> list[Path]:
    """All stores of a folder, sorted by name."""
    return sorted(path for path in folder.rglob(f"*{SUFFIX}") if not path.name.startswith("."))


def _nodes(path: Path) -> dict[str, dict[str, Any]]:
    """The metadata of all groups and arrays."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.split("/")[-1] == METADATA]
            found = {name: json.loads(archive.read(name)) for name in names}
    except (zipfile.BadZipFile, ValueError) as error:
        raise UserError(f"{path}: this is no store of shiftbench ({error})") from None
    if METADATA not in found:
        raise UserError(f"{path}: this zip is no store of shiftbench")
    return found

"""Read the metadata of zarr stores without their arrays."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from shiftbench.config import result_paths, spec_files
from shiftbench.core.errors import UserError

METADATA = "zarr.json"


def attributes(path: Path) -> dict[str, Any]:
    """Return the attributes of a store. Raises UserError if the file is not a store."""
    return _nodes(path)[METADATA]["attributes"]


def arrays(path: Path) -> dict[str, dict[str, Any]]:
    """Return zarr's metadata of each array, by its path in the store. Raises as `attributes`."""
    nodes = [each for each in sorted(_nodes(path).items()) if each[1]["node_type"] == "array"]
    return {name.removesuffix(f"/{METADATA}"): node for name, node in nodes}


def spec(path: Path) -> dict[str, Any]:
    """Return the spec that a store was computed from."""
    return spec_files.parsed(attributes(path)["spec"])


def below(folder: Path) -> list[Path]:
    """Return all stores below a folder, sorted by name."""
    return sorted(
        path for path in folder.rglob(f"*{result_paths.STORE}") if not path.name.startswith(".")
    )


def _nodes(path: Path) -> dict[str, dict[str, Any]]:
    """Return the metadata of all groups and arrays, by the name of their file."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.split("/")[-1] == METADATA]
            nodes = {name: json.loads(archive.read(name)) for name in names}
    except (zipfile.BadZipFile, ValueError) as error:
        raise UserError(f"{path}: not a store of shiftbench ({error})") from None
    if METADATA not in nodes:
        raise UserError(f"{path}: this zip is not a store of shiftbench")
    return nodes

"""A config that is no file: the mapping that a workflow gives which has ours as a module.

It is read as if it stood in a file in the working directory. Jobs need a file, so it is written
among the results, under the name of the module.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shiftbench.config import config_file
from shiftbench.config.schema import Config
from shiftbench.config.yaml_lines import FOLDER, Document
from shiftbench.core import atomic_files
from shiftbench.core.errors import UserError

DEFAULT = {"from": "embedded"}
OF_SNAKEMAKE = "pathvars"
"""A key that Snakemake reads itself."""


def load(given: Mapping[str, Any], file: Path) -> Config:
    """The config of the module whose jobs find it at `file`. ConfigError with every error."""
    if not isinstance(given, Mapping):
        raise UserError(
            f"the config of module {file.stem} is no mapping; give one, as config files are"
        )
    document = Document(file, json.loads(text(given, file)), None, [])
    return config_file.planned(config_file.whole(document, f"the config of module {file.stem}"))


def text(given: Mapping[str, Any], file: Path) -> str:
    """What the file says: JSON, which is YAML; relative paths start in the working directory."""
    said = {key: value for key, value in given.items() if key != OF_SNAKEMAKE} or DEFAULT
    folder = os.path.relpath(str(said.get(FOLDER, ".")), file.parent)
    return json.dumps(said | {FOLDER: folder}, indent=1, ensure_ascii=False, default=str) + "\n"


def write(given: Mapping[str, Any], file: Path) -> None:
    """Writes the file, whole, unless it says this already."""
    wanted = text(given, file)
    if not file.is_file() or file.read_text(encoding="utf-8") != wanted:
        atomic_files.write(file, wanted)

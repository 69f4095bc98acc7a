"""The config of a Snakemake module: a mapping from the workflow that uses ours as a module.

It is read as if it were a file in the working directory. Jobs need a file, so it is written among
the results, under the name of the module.
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


def load(config: Mapping[str, Any], file: Path) -> Config:
    """Return the config of a module whose jobs read it from `file`. ConfigError with all errors."""
    label = f"the config of module {file.stem}"
    if not isinstance(config, Mapping):
        raise UserError(f"{label} is not a mapping; give one with the keys of a config file")
    document = Document(file, json.loads(text(config, file)), None, [])
    return config_file.planned(config_file.checked(document, label))


def text(config: Mapping[str, Any], file: Path) -> str:
    """Return the file's content: JSON, which is YAML; paths start in the working directory."""
    data = {key: value for key, value in config.items() if key != OF_SNAKEMAKE} or DEFAULT
    folder = os.path.relpath(str(data.get(FOLDER, ".")), file.parent)
    return json.dumps(data | {FOLDER: folder}, indent=1, ensure_ascii=False, default=str) + "\n"


def write(config: Mapping[str, Any], file: Path) -> None:
    """Write the file atomically, unless it has this content already."""
    content = text(config, file)
    if not file.is_file() or file.read_text(encoding="utf-8") != content:
        atomic_files.write(file, content)

"""Copies of the repository in which a workflow may run."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]


def repository(folder: Path, config: str) -> Path:
    """What a workflow needs of the repository, with config/mine.yaml; nothing has run in it."""
    for name in ("src", "workflow", "profiles", "envs"):
        ignored = shutil.ignore_patterns("__pycache__", "*.sif")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("Snakefile", "Makefile"):
        shutil.copy(ROOT / name, folder)
    (folder / "config").mkdir()
    (folder / "config/mine.yaml").write_text(config)
    return folder

"""Paths of the files that are not Python: in the checkout or, once installed, in the package.

setup.py copies them into the package; nothing else differs between the two.
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parents[1]
CARRIED = PACKAGE / "_checkout"
"""The copy of these files in an installed package."""
INSTALLED = CARRIED.is_dir()
HOME = CARRIED if INSTALLED else PACKAGE.parents[1]

CONFIGS = HOME / "config"
EMBEDDED = CONFIGS / "embedded.yaml"
LOCK = HOME / "envs" / "requirements.lock"
GPU_LOCK = HOME / "envs" / "requirements-gpu.lock"
SNAKEFILE = HOME / "Snakefile"
"""Snakemake finds profiles/default beside it."""

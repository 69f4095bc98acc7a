"""Where the files lie that are no Python: in the checkout or, installed, in the package.

setup.py puts them there; nothing else differs between the two.
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parents[1]
CARRIED = PACKAGE / "_checkout"
"""What an installed package has of the checkout."""
INSTALLED = CARRIED.is_dir()
HOME = CARRIED if INSTALLED else PACKAGE.parents[1]

CONFIGS = HOME / "config"
EMBEDDED = CONFIGS / "embedded.yaml"
LOCK = HOME / "envs" / "requirements.lock"
GPU_LOCK = HOME / "envs" / "requirements-gpu.lock"
SNAKEFILE = HOME / "Snakefile"
"""Beside which Snakemake finds profiles/default."""

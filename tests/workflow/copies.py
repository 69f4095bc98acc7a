"""Copy the repository for tests of the workflow, and run Snakemake in the copies."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from tests import forked
from tests.checkout import ROOT

# Replaces __main__.py and only makes the files of a job.
FAKE = """
import sys
from pathlib import Path
arguments = sys.argv[1:]
made = arguments[arguments.index("--output") + 1 :]
for path in made[: [text.startswith("--") for text in made].index(True)]:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(" ".join(arguments))
"""


def repository(folder: Path, config: str) -> Path:
    """Copy what a workflow needs of the repository, with config/mine.yaml; return the folder."""
    for name in ("src", "workflow", "profiles", "envs"):
        # Include compiled files, but not those that another process is writing.
        ignored = shutil.ignore_patterns("compiled-*", "*.pyc.*", "*.sif")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("Snakefile", "Makefile"):
        shutil.copy(ROOT / name, folder)
    (folder / "docs").mkdir()  # the pages at the end of a run need the situations
    shutil.copy(ROOT / "docs/situations.yaml", folder / "docs")
    (folder / "config").mkdir()
    (folder / "config/mine.yaml").write_text(config)
    return folder


def faked(folder: Path, config: str, more: str = "") -> Path:
    """Make a copy whose jobs only make their files and run the code `more`."""
    repository(folder, config)
    (folder / "src/shiftbench/__main__.py").write_text(FAKE + more)
    return folder


def snakemake(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Snakemake on one core in a copy, with its own code and config."""
    options = ("--cores", "1", "--configfile", "config/mine.yaml")
    return forked.python("snakemake", *arguments, *options, cwd=folder, source=folder / "src")


def snakemake_in(folder: Path, config: str, *arguments: str) -> str:
    """Return what Snakemake prints in a folder outside the checkout, with the checkout's code."""
    options = ("--snakefile", ROOT / "Snakefile", "--cores", "1", "--configfile", config)
    done = forked.python("snakemake", *arguments, *options, cwd=folder, source=ROOT / "src")
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def jobs(said: str) -> list[str]:
    """Return the messages of the jobs in Snakemake's output."""
    return re.findall(r"^Job \d+: (.*)$", said, re.MULTILINE)

"""Snakemake in a folder that a killed process has locked."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from tests import forked

ROOT = Path(__file__).parents[2]
CONFIG = """\
streams:
  steps: {family: toy-step, realisations: 1, points: 4}
studies:
  steps:
    title: Steps
    streams: [steps]
    seeds: 1
    metrics: [log_predictive]
    methods: {plain: [gaussian-mean]}
"""
STORE = "results/mine/streams/steps.zarr.zip"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder locked by a dead process."""
    for name in ("locks", "owners"):
        (tmp_path / ".snakemake" / name).mkdir(parents=True)
    (tmp_path / ".snakemake/locks/0.output.lock").write_text(f"{STORE}\n")
    (tmp_path / f".snakemake/owners/{platform.node()}-1234567").touch()
    (tmp_path / "mine.yaml").write_text(CONFIG)
    return tmp_path


def snakemake(folder: Path, *arguments: str) -> str:
    options = ("--snakefile", ROOT / "Snakefile", "--cores", "1", "--configfile", "mine.yaml")
    done = forked.python("snakemake", STORE, *options, *arguments, cwd=folder)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.long
def test_goes_on_by_itself(folder: Path) -> None:
    assert "Snakemake was killed here (process 1234567" in snakemake(folder)
    assert (folder / STORE).exists()
    assert [path.name for path in (folder / ".snakemake/owners").iterdir()] == ["turn"]


@pytest.mark.long
def test_dry_run_removes_nothing(folder: Path) -> None:
    files = sorted(path.name for path in folder.glob(".snakemake/*s/*"))
    snakemake(folder, "--dry-run")
    assert sorted(path.name for path in folder.glob(".snakemake/*s/*")) == files
    assert not (folder / STORE).exists()

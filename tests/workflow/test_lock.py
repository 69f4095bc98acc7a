"""Snakemake in a folder that a killed process has locked."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from tests.workflow import copies

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


@pytest.mark.long
def test_goes_on_by_itself(folder: Path) -> None:
    assert "Snakemake was killed here (process 1234567" in copies.snakemake_in(
        folder, "mine.yaml", STORE
    )
    assert (folder / STORE).exists()
    assert [path.name for path in (folder / ".snakemake/owners").iterdir()] == ["turn"]


@pytest.mark.long
def test_dry_run_removes_nothing(folder: Path) -> None:
    files = sorted(path.name for path in folder.glob(".snakemake/*s/*"))
    copies.snakemake_in(folder, "mine.yaml", STORE, "--dry-run")
    assert sorted(path.name for path in folder.glob(".snakemake/*s/*")) == files
    assert not (folder / STORE).exists()

"""Streams of text through the workflow: shards are jobs, and their number does not change bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import xarray as xr

from shiftbench.data.store import zarr_zip
from tests import forked
from tests.checkout import ROOT
from tests.data.text.test_running_text import congress

CONFIG = """\
streams:
  one: &one
    family: running-text
    dataset: congressional-record
    period_years: 2
    vocabulary_size: 0
  three: {shards: 3, <<: *one}
studies:
  words:
    title: Words
    streams: [one, three]
    seeds: 1
    metrics: [updates_per_period]
    methods:
      vcl: [per-word, skipgram]
"""
STORES = [f"results/mine/streams/{name}.zarr.zip" for name in ("one", "three")]


def workflow(folder: Path, *arguments: str) -> str:
    """Return the output of a call with fork servers, as in make run."""
    done = subprocess.run(
        [sys.executable, "-m", "shiftbench", "warm", "--",
         sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", *STORES, *arguments,
         "--cores", "2", "--configfile", "config/mine.yaml"],
        cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=forked.LIMIT_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.long
def test_shards_are_jobs_and_their_number_changes_no_byte(tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config/mine.yaml").write_text(CONFIG)
    raw = tmp_path / "data/raw/congressional-record"
    raw.mkdir(parents=True)
    congress(raw)
    said = workflow(tmp_path)
    assert said.count("Counting shard") >= 4 and said.count("Merging the shards of three") >= 1
    stores = [(tmp_path / path).read_bytes() for path in STORES]
    trees = [zarr_zip.read_tree(tmp_path / path) for path in STORES]
    for tree in trees:  # a store's attributes name its stream
        tree.attrs.clear()
    xr.testing.assert_identical(*trees)
    assert "Nothing to be done" in workflow(tmp_path, "--dry-run")
    edited = CONFIG.replace("shards: 3", "shards: 2")
    (tmp_path / "config/mine.yaml").write_text(edited)
    workflow(tmp_path)
    assert [(tmp_path / path).read_bytes() for path in STORES] == stores
    (raw / "speeches_043.txt").write_bytes(
        (raw / "speeches_043.txt").read_bytes().replace(b"Peace", b"Order")
    )
    assert "Counting shard" in workflow(tmp_path, "--dry-run")

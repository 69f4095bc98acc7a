"""A folder of results as the workflow makes it, of one small study, in a second."""

from __future__ import annotations

import os
from pathlib import Path

from shiftbench.cli import main

CONFIG = """\
seeds_per_job: 2
streams:
  steps: {family: toy-step, points: 12, realisations: 4}
studies:
  toy:
    title: Steps
    streams: [steps]
    seeds: 4
    metrics: [jump_f1, log_predictive]
    artefacts: [score-table]
    methods: {search: {from: vbs-toy}, plain: [gaussian-mean]}
"""


def make(folder: Path) -> Path:
    """results/small below the folder, and config/small.yaml."""
    (folder / "config").mkdir(parents=True)
    (folder / "config/small.yaml").write_text(CONFIG)
    results = folder / "results/small"
    config = ["--config", str(folder / "config/small.yaml")]
    stream = str(results / "streams/steps.zarr.zip")
    _do("stream", "steps", *config, "--raw", "raw", "--output", stream)
    runs = []
    for learner in ("search", "plain"):
        for block in ("0-1", "2-3"):
            stem = f"{results}/runs/toy/steps/{learner}/{block}"
            runs.append(f"{stem}.zarr.zip")
            _do(
                "train", "toy", "steps", learner, "--seeds", block, *config, "--store", stream,
                "--output", runs[-1], "--cost", f"{stem}.cost.json",
                "--scratch", str(folder / "scratch"),
            )  # fmt: skip
    study = f"{results}/studies/toy"
    made = ["--scores", f"{study}/scores.zarr.zip", "--summary", f"{study}/summary.csv", *config]
    made += ["--streams", stream]
    _do("summarise", "toy", "--runs", *runs, *made, "--tidy", f"{study}/scores.csv")
    os.makedirs(f"{study}/tables")
    tables = [f"{study}/tables/score-table.{kind}" for kind in ("csv", "md")]
    _do("artefact", "toy", "score-table", "--output", *tables, *made)
    return results


def _do(*arguments: str) -> None:
    assert main.main(list(arguments)) == 0

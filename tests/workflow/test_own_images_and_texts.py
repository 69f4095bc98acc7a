"""A user's texts and images, in a user's folder, through Snakemake."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from shiftbench.cli import main
from tests import own_pictures, own_words
from tests.workflow.copies import snakemake_in

CONFIG = """\
studies:
  days:
    title: Bars, lying or standing, day by day
    streams: {days: {family: image-file, path: pictures, protocol: tasks, size: 8}}
    model: mlp
    methods: [joint: {map.epochs: 30}]
    metrics: [accuracy, acc]
    artefacts: [tasks-learnt]
    seeds: 1
"""
TEXTS = """\
studies:
  speeches:
    title: Words
    streams: {speeches: {family: text-files, path: texts, vocabulary_size: 0}}
    methods: [vbs-words]
    metrics: [updates_per_period]
    seeds: 1
"""


@pytest.mark.long
def test_from_pictures_to_a_figure_and_only_another_content_runs_again(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    own_pictures.write(folder / "pictures")
    (folder / "mine.yaml").write_text(CONFIG)
    snakemake_in(folder, "mine.yaml")
    study = folder / "results/mine/studies/days"
    assert (study / "figures/tasks-learnt.png").stat().st_size > 1e4
    scores = pd.read_csv(study / "summary.csv").set_index("metric")["mean"]
    assert scores["acc"] > 0.8

    moved = folder.rename(tmp_path / "elsewhere")
    assert "Nothing to be done" in snakemake_in(moved, "mine.yaml")
    (moved / "pictures/day-2/lying/7.png").unlink()
    planned = snakemake_in(moved, "mine.yaml", "--dry-run")
    assert "Building stream days" in planned and "Running days: joint" in planned


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("speech.txt", "peace", "speech.txt: there is no year in its name"),
        ("2003.txt", "", "2003.txt is empty"),
        ("2020_a.txt", "peace", "texts has no document in the period of 1 years that starts in"),
    ],
)
def test_check_looks_at_texts_before_anything_runs(tmp_path, capsys, name, content, told) -> None:
    own_words.write(tmp_path / "texts")
    (tmp_path / "mine.yaml").write_text(TEXTS)
    assert main.main(["check", str(tmp_path / "mine.yaml")]) == 0
    (tmp_path / "texts" / name).write_text(content)
    assert main.main(["check", str(tmp_path / "mine.yaml")]) == 2
    error = capsys.readouterr().err
    assert told in error and "stream speeches: " in error and error.count("\n") == 1

"""From a user's CSV to a figure of its changepoints, outside the checkout."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shiftbench.cli import check
from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring import results, segmentation
from tests.checkout import ROOT
from tests.workflow import copies

MARKS = '{"ann": [45, 90], "bob": [44]}'


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Copy the example to a folder with a space in its name, and change to it."""
    place = tmp_path / "my series"
    shutil.copytree(ROOT / "examples" / "series", place)
    monkeypatch.chdir(place)
    return place


def planned() -> list[str]:
    """Return the messages of the jobs of a dry run, without those of targets."""
    return copies.jobs(copies.snakemake_in(Path.cwd(), "visits.yaml", "--dry-run"))


def changepoints() -> dict[str, list[int]]:
    """Return the changepoints found by each method, numbered from 0."""
    place = Path("results/visits/studies/visits")
    spec = {"study": "visits", "title": "Visits"}
    streams = [Path("results/visits/streams/visits.zarr.zip")]
    study = results.load(spec, place / "scores.zarr.zip", place / "summary.csv", streams)
    found = {one: segmentation.changepoints(study.run("visits", one)) for one in study.methods}
    return {name: np.asarray(points[0]).tolist() for name, points in found.items() if points}


@pytest.mark.long
def test_a_csv_becomes_a_figure_of_its_changes(folder):
    assert len((folder / "visits.yaml").read_text().splitlines()) <= 10
    copies.snakemake_in(Path.cwd(), "visits.yaml", "visits")
    figures = folder / "results" / "visits" / "studies" / "visits" / "figures"
    assert {one.name for one in figures.glob("*.png")} == {"changepoints.png", "segmentation.png"}
    found = changepoints()
    assert found["robust-bocpd"] == [45, 90], "as the level of the example changes"
    assert {20, 21, 71, 72} <= set(found["bocpd"]), "and its two outliers"
    dates = pd.read_csv(figures.parent / "tables" / "changepoint-dates.csv")
    robust = dates[dates["method"] == "Robust BOCPD"]
    assert robust["time"].tolist() == ["2023-11-13", "2024-09-23"]
    assert robust["size"].tolist() == pytest.approx([57, -94], abs=1)

    text = (folder / "visits.csv").read_text()
    (folder / "visits.csv").write_text(text.replace("open day", "closed"))
    assert "Building stream visits" in planned(), "another content is another stream"


def test_check_looks_into_the_files(folder):
    config = (folder / "visits.yaml").read_text()
    (folder / "visits.yaml").write_text(config.replace("path:", "annotations: ann.json, path:"))
    assert "there is no ann.json" in refused()
    (folder / "ann.json").write_text(MARKS.replace("90", "120"))
    assert "stream visits: ann.json: annotator ann has position 120" in refused()
    (folder / "visits.csv").write_text("week,visits\n2024-01-01,3\n2024-01-08,\n2024-01-15,4\n")
    assert 'stream visits: visits.csv, line 3, column "visits": a gap' in refused()


def refused() -> str:
    """Return the message with which `check` refuses the config."""
    with pytest.raises(UserError) as error:
        check.check(argparse.Namespace(config=Path("visits.yaml")))
    return str(error.value)

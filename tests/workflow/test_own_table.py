"""A table of one's own in a folder of one's own, from the file to a figure, through Snakemake."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from shiftbench import cli
from tests import test_docs

ROOT = Path(__file__).parents[2]


def folder_of(path: Path) -> Path:
    """A folder with the table and the config of the README, of one method and the figure alone."""
    folder = path / "prices"
    folder.mkdir()
    (folder / "prices.csv").write_text(test_docs.prices())
    own = "# ../prices/prices.yaml\n"
    (config,) = (
        block for block in test_docs.blocks((ROOT / "README.md").read_text(), "yaml")
        if block.startswith(own)
    )  # fmt: skip
    config = config.removeprefix(own).replace("[vbs-linear, vcl-linear]", "[vbs-linear]")
    (folder / "prices.yaml").write_text(config.replace("-time, score-table]", "-time]"))
    return folder


def snakemake(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", "--cores", "1",
         "--configfile", "prices.yaml", *arguments],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.long
def test_from_a_table_to_a_figure_and_only_another_content_runs_again(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    snakemake(folder)
    study = folder / "results/prices/studies/prices"
    assert (study / "figures/error-over-time.png").stat().st_size > 1e4
    scores = pd.read_csv(study / "summary.csv").set_index("metric")["mean"]
    assert scores["n_changepoints"] == pytest.approx(2, abs=1)
    assert scores["absolute_error"] < 1

    moved = folder.rename(tmp_path / "elsewhere")
    assert "Nothing to be done" in snakemake(moved)
    (moved / "prices.csv").write_text(test_docs.prices(rows=130))
    planned = snakemake(moved, "--dry-run")
    assert "Building stream prices" in planned and "Running prices: vbs-linear" in planned


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("load,wind", "load,load", "line 1: columns 1 and 2 are both named 'load'"),
        ("wind,price", "wind,prise", 'line 1: unknown column "price"; did you mean "prise"?'),
        ("\n", "\n,1,2\n", 'line 2, column "load": the value is missing'),
        ("\n", '\n1,1,"2,5"\n', "line 2, column \"price\": '2,5' has a decimal comma; write 2.5"),
    ],
)
def test_check_tells_what_is_wrong_in_the_file_before_anything_runs(
    tmp_path: Path, capsys, old: str, new: str, words: str
) -> None:
    folder = folder_of(tmp_path)
    table = folder / "prices.csv"
    table.write_text(table.read_text().replace(old, new, 1))
    assert cli.main(["check", str(folder / "prices.yaml")]) == 2
    told = capsys.readouterr().err
    assert words in told and told.count("\n") == 1

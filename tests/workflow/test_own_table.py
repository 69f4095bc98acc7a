"""A user's table in a user's folder, from the file to its changes."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shiftbench.cli import main
from shiftbench.evaluation.artefacts import changepoint_dates
from tests import own_data
from tests.checkout import ROOT
from tests.workflow.copies import snakemake_in

EXAMPLE = ROOT / "examples" / "table"
CONFIG = "prices.yaml"
CHANGES = ["2024-04-20", "2024-06-24"]
"""Days on which the price of the example starts to follow another rule."""
CLOSE = 3
"""The largest number of rows between a true change and its estimate."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(EXAMPLE, tmp_path / "prices")


@pytest.mark.long
def test_from_a_table_to_its_changes_and_only_another_content_runs_again(folder: Path) -> None:
    said = snakemake_in(folder, CONFIG)
    assert "prices: 93 % of the values for BOCPD, only 88 % for Static regression lie" in said
    study = folder / "results/prices/studies/prices"
    assert (study / "figures/error-over-time.png").stat().st_size > 1e4
    dates = pd.read_csv(study / "tables/changepoint-dates.csv")
    assert dates["time"].tolist() == CHANGES and dates["probability"].min() > 0.9

    moved = folder.rename(folder.with_name("elsewhere"))
    assert "Nothing to be done" in snakemake_in(moved, CONFIG)
    lines = (moved / "prices.csv").read_text().splitlines()
    (moved / "prices.csv").write_text("\n".join(lines[:-10]))
    planned = snakemake_in(moved, CONFIG, "--dry-run")
    assert "Building stream prices" in planned and "Running prices: bocpd-table" in planned


def planted(noise: float, scales: list[float], rows: int = 230) -> str:
    """Return a table whose target follows other rules after each of two changes."""
    random = np.random.default_rng(len(scales))
    inputs = (random.normal(size=(rows, len(scales))) + 5) * scales
    rules = 3 * noise * random.normal(size=(3, len(scales))) / scales
    rule = rules[np.searchsorted([100, 170], np.arange(rows), side="right")]
    target = (rule * inputs).sum(axis=1) + noise * random.normal(size=rows)
    names = [f"x{number}" for number in range(len(scales))]
    frame = pd.DataFrame(inputs, columns=names).assign(y=target, row=np.arange(rows))
    return frame.to_csv(index=False)


@pytest.mark.parametrize(
    ("noise", "scales"),
    [
        (2, [10, 3, 0.5]),
        pytest.param(0.02, [0.1, 1], marks=pytest.mark.long),
        pytest.param(300, [1000, 50, 4, 200], marks=pytest.mark.long),
    ],
)
def test_the_recipe_finds_the_planted_changes_at_any_scale(folder, noise, scales) -> None:
    (folder / "prices.csv").write_text(planted(noise, scales))
    config = folder / "prices.yaml"
    text = config.read_text().replace("price, time: day", "y, time: row")
    config.write_text(text.replace("[bocpd-table, static-table]", "[bocpd-table]"))
    study = own_data.study(config, folder)
    found = changepoint_dates.tabulate(study)
    assert found["time"].astype(int).tolist() == pytest.approx([100, 170], abs=CLOSE)
    within = study.score("prices", "bocpd-table", "interval_coverage")
    assert within == pytest.approx(0.95, abs=0.04)
    assert study.calibration().endswith("calibrated")


def test_check_notes_which_columns_are_left_out(folder: Path, capsys) -> None:
    assert main.main(["check", str(folder / "prices.yaml")]) == 0
    note = 'Note: stream prices: Column "weekday" has no numbers and is left out\n'
    assert note in capsys.readouterr().out


def test_check_notes_that_calibration_is_not_measured(folder: Path, capsys) -> None:
    config = folder / "prices.yaml"
    note = "Note: prices: add interval_coverage to its metrics to see whether predictions are cal"
    assert main.main(["check", str(config)]) == 0
    assert note not in capsys.readouterr().out
    config.write_text(config.read_text().replace(", interval_coverage", ""))
    assert main.main(["check", str(config)]) == 0
    assert note in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("load,wind", "load,load", "line 1: columns 3 and 4 are both named 'load'"),
        ("wind,price", "wind,prise", 'line 1: unknown column "price"; did you mean "prise"?'),
        ("\n", "\n2024-01-01,Mon,,1,2\n", 'line 2, column "load": the value is missing'),
        ("\n", '\n2024-01-01,Mon,1,1,"2,5"\n', "'2,5' has a decimal comma; write 2.5"),
        ("2024-01-03", "2023-01-03", "line 4, column \"day\": '2023-01-03' comes after"),
    ],
)
def test_check_tells_what_is_wrong_in_the_file_before_anything_runs(
    folder: Path, capsys, old: str, new: str, words: str
) -> None:
    table = folder / "prices.csv"
    table.write_text(table.read_text().replace(old, new, 1))
    assert main.main(["check", str(folder / "prices.yaml")]) == 2
    told = capsys.readouterr().err
    assert words in told and told.count("\n") == 1

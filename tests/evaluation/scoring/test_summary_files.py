"""Summaries are read exactly, also those that older code has published."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring import summarise, summary_files

HEAD = ",".join(summarise.COLUMNS)
ROW = 'toy,late,nan,f1,0.30000000000000004,,,,1,0.5,"withheld: 0.01 of it, less than 0.05",1 of 1'


def written(folder: Path, *lines: str) -> Path:
    path = folder / "summary.csv"
    path.write_text("\n".join([*lines, ""]))
    return path


def test_a_summary_is_read_exactly_and_older_notes_as_today(tmp_path: Path) -> None:
    (row,) = summary_files.read(written(tmp_path, HEAD, ROW)).to_dict("records")
    assert row["learner"] == "nan" and row["mean"] == 0.1 + 0.2 and row["sd"] != row["sd"]
    assert row["n"] == 1 and row["published_note"] == "0.01 of it"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ((), "No columns"),
        ((HEAD.replace("mean", "median"), ROW), "no column mean"),
        ((HEAD, ROW, ROW), "line 3: a line above has the same stream, learner and metric"),
        ((HEAD, ROW.replace(",1,0.5", ",,0.5")), 'line 2, column "n": "" is not a whole number'),
    ],
)
def test_a_damaged_summary_is_named(tmp_path: Path, lines: tuple[str, ...], reason: str) -> None:
    path = written(tmp_path, *lines)
    with pytest.raises(UserError, match=f"{path} is not a summary of a study") as error:
        summary_files.read(path)
    assert reason in str(error.value) and "restore it" in str(error.value)

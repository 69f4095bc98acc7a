"""Tables of scores are read exactly, and arranged as a cube."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring import tidy_files

HEAD = "study,stream,learner,method,metric,seed,score,status"
ROWS = (
    "toy,late,nan,,f1,10,0.1,ok",
    "toy,late,nan,,f1,2,,failed: null",
    "toy,late,null,NA,f1,2,0.30000000000000004,ok",
    "toy,early,null,NA,f1,2,-inf,ok",
)


def written(folder: Path, *lines: str) -> Path:
    path = folder / "scores.csv"
    path.write_text("\n".join([*lines, ""]))
    return path


def test_only_a_score_may_be_missing(tmp_path: Path) -> None:
    rows = tidy_files.read(written(tmp_path, HEAD, *ROWS))
    assert rows["learner"].tolist() == ["nan", "nan", "null", "null"]
    assert rows["method"].tolist() == ["", "", "NA", "NA"]
    assert rows["status"].tolist() == ["ok", "failed: null", "ok", "ok"]
    assert rows["seed"].tolist() == [10, 2, 2, 2]
    assert np.array_equal(rows["score"], [0.1, np.nan, 0.1 + 0.2, -np.inf], equal_nan=True)


def test_a_cube_has_the_order_of_its_rows_and_sorted_seeds(tmp_path: Path) -> None:
    cube = tidy_files.cube(tidy_files.read(written(tmp_path, HEAD, *ROWS)))
    assert cube["stream"].values.tolist() == ["late", "early"]
    assert cube["learner"].values.tolist() == ["nan", "null"]
    assert cube["seed"].values.tolist() == [2, 10]
    assert cube["score"].sel(stream="late", learner="nan", metric="f1", seed=10) == 0.1
    words = cube["status"].sel(stream="late").values.tolist()
    assert words == [["failed: null", "ok"], ["ok", ""]]


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([HEAD, ROWS[0][:-3]], 'line 2, column "status": it is empty'),
        ([HEAD, f"{ROWS[0]},more"], "its lines have more fields than the first one"),
        ([HEAD, ROWS[0].replace(",10,", ",1e30,")], '"1e30" is not a whole number'),
        ([HEAD, ROWS[0].replace("0.1", "nan")], 'column "score": "nan" is not a number'),
    ],
)
def test_a_damaged_table_is_named(tmp_path: Path, lines: list[str], reason: str) -> None:
    path = written(tmp_path, *lines)
    with pytest.raises(UserError, match=f"{path} is not a table of scores") as error:
        tidy_files.read(path)
    assert reason in str(error.value) and "restore it" in str(error.value)


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"scores\.csv is not a table of scores \(No such file"):
        tidy_files.read(tmp_path / "scores.csv")

"""The ledger holds every claim: judged by a study, or not run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from shiftbench.artefacts import _style, claims
from shiftbench.errors import UserError
from shiftbench.overview import ledger

NAMES = ("order", "number", "absent")
ROW = dict.fromkeys(claims.COLUMNS, "") | {
    "claim": "order", "paper": "Knoblauch et al. (2018)", "where": "5.1", "says": "A is above B.",
    "stream": "well-log", "measured": "a - b", "ours": "0.5", "low": "0.1", "high": "0.9",
    "from": "0", "seeds": "5", "share": "1", "verdict": "reproduced",
}  # fmt: skip
NUMBER = ROW | {"claim": "number", "from": "1", "to": "2", "verdict": "contradicted"}


@pytest.fixture
def known():
    """All claims."""
    kept = {"where": "5.1", "says": "So.", "metric": "f1", "code": "", "ours_may": "", "paper": "9"}
    found = [kept | {"name": name, "work": "knoblauch2018robust"} for name in NAMES]
    found.append(kept | {"name": "other", "work": "li2021vbs"})
    return found


@pytest.fixture
def tables(tmp_path: Path):
    def written(name: str, *rows) -> Path:
        path = tmp_path / f"{name}.csv"
        pd.DataFrame(rows, columns=list(claims.COLUMNS)).to_csv(path, index=False)
        return path

    once = written("one", NUMBER, ROW)
    twice = written("two", ROW | {"verdict": "unresolved", "ours": "0.05"})
    return {("cpu", "one"): once, ("paper", "two"): twice}


def test_every_claim_has_a_row_for_each_study_or_is_not_run(known, tables) -> None:
    rows = ledger.collect(known, tables)
    assert rows[["claim", "study", "verdict"]].values.tolist() == [
        ["order", "one", "reproduced"],
        ["order", "two", "unresolved"],
        ["number", "one", "contradicted"],
        ["absent", "", "not run"],
        ["other", "", "not run"],
    ]
    assert rows["config"].tolist() == ["cpu", "paper", "cpu", "", ""]
    assert rows["printed"].tolist()[-1] == "9" and rows["paper"].tolist()[-1] == "Li et al. (2021)"


def test_counts_are_those_of_the_rows(known, tables) -> None:
    rows = ledger.collect(known, tables)
    expected = {
        "reproduced": 1, "contradicted": 1, "unresolved": 1, "not at this budget": 0, "not run": 2
    }  # fmt: skip
    assert ledger.counted(rows) == expected
    assert "Claims: 4; papers: 2" in ledger.caption(rows)
    said = "Verdicts of configs cpu, paper: 1 reproduced, 1 contradicted, 1 unresolved"
    assert said in ledger.caption(rows)
    labels = [text.get_text() for text in ledger.draw(rows).legends[0].get_texts()]
    assert labels == [f"{name}: {number}" for name, number in expected.items()]


def test_the_figure_has_a_row_a_claim_with_ours_where_there_is_a_number(known, tables) -> None:
    rows = ledger.collect(known, tables)
    (axes,) = ledger.draw(rows).get_axes()
    texts = [text.get_text() for text in axes.texts]
    assert texts.count("Knoblauch et al. (2018)") == texts.count("Li et al. (2021)") == 1
    assert sum(text.replace("\n", " ").startswith("5.1: ") for text in texts) == len(rows)
    assert "0.5 [0.1, 0.9]\na - b" in texts
    assert len(axes.patches) == 3  # a shade for each row with a number


def test_a_number_inside_its_range_is_drawn_in_the_shade(known, tables) -> None:
    (axes,) = ledger.draw(ledger.collect(known, tables)).get_axes()
    points = [line for line in axes.lines if line.get_markersize() == 4.5]
    inside = []
    for box, point in zip(axes.patches, points, strict=True):
        assert box.get_y() < point.get_ydata()[0] < box.get_y() + box.get_height()
        inside.append(box.get_x() <= point.get_xdata()[0] <= box.get_x() + box.get_width())
    assert inside == [True, True, False]


def test_the_same_rows_give_the_same_bytes(known, tables, tmp_path: Path) -> None:
    rows = ledger.collect(known, tables)
    for name in ("first", "second"):
        _style.save(ledger.draw(rows), tmp_path / name)
    for kind in ("svg", "png"):
        assert (tmp_path / f"first.{kind}").read_bytes() == (
            tmp_path / f"second.{kind}"
        ).read_bytes()


def test_what_is_no_table_of_claims_is_named(known, tmp_path: Path) -> None:
    (tmp_path / "claims.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match=r"claims\.csv: the table of claims lacks the column claim"):
        ledger.collect(known, {("cpu", "one"): tmp_path / "claims.csv"})

"""The ledger contains every claim, as judged by a study or as not run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from shiftbench.core.errors import UserError
from shiftbench.evaluation import figure_files, figure_style
from shiftbench.evaluation.artefacts import claims
from shiftbench.evaluation.overview import _ledger_figure, ledger

LUMINANCE = (0.299, 0.587, 0.114)
NAMES = ("order", "number", "absent")
ROW = dict.fromkeys(claims.COLUMNS, "") | {
    "claim": "order", "paper": "Knoblauch et al. (2018)", "where": "5.1", "read": "text",
    "says": "A is above B.", "stream": "well-log", "measured": "a - b", "ours": "0.5",
    "low": "0.1", "high": "0.9", "from": "0", "seeds": "5", "share": "1", "verdict": "reproduced",
}  # fmt: skip
NUMBER = ROW | {"claim": "number", "from": "1", "to": "2", "verdict": "contradicted"}


@pytest.fixture
def known():
    """Return all claims."""
    kept = {
        "where": "5.1",
        "read": "text",
        "says": "So.",
        "metric": "f1",
        "code": "",
        "ours_may": "",
        "paper": "9",
    }
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
        "reproduced": 1, "contradicted": 1, "unresolved": 1, "not at this budget": 0,
        "budget unknown": 0, "not run": 2,
    }  # fmt: skip
    assert ledger.counted(rows) == expected
    assert "Claims: 4; papers: 2" in ledger.caption(rows)
    said = "Verdicts of configs cpu, paper, by row: 1 reproduced, 1 contradicted, 1 unresolved"
    assert said in ledger.caption(rows)


def test_a_check_that_is_not_run_is_no_claim_without_a_verdict(known, tables) -> None:
    proved = known[0] | {"name": "proved", "work": "li2021vbs", "check": True}
    rows = ledger.collect([*known, proved], tables)
    assert rows["verdict"].tolist()[-1] == "check not run"
    assert ledger.counted(rows)["not run"] == 2
    assert ledger.by_paper(rows).loc["Li et al. (2021)"].sum() == 1
    assert "0 of 1 rows of 1 hold" in ledger.caption(rows)


def test_counts_by_claim_stand_beside_those_by_row_and_checks_apart(known, tables) -> None:
    rows = ledger.collect(known, tables)
    said = ledger.caption(rows)
    assert "by claim: 0 reproduced, 1 contradicted, 0 unresolved, 1 mixed" in said
    assert "not counted: 0 of 0 rows of 0 hold" in said
    checked = rows.assign(verdict=["holds", "fails", *rows["verdict"][2:]])
    assert "not counted: 1 of 2 rows of 1 hold" in ledger.caption(checked)
    assert ledger.counted(checked)["reproduced"] == 0


def test_a_claim_that_is_not_run_says_why(known) -> None:
    rows = ledger.collect([known[0] | {"not_run": "too large"}, known[1]], {})
    assert rows["ours_may"].tolist() == ["too large", ""]


def test_the_figure_counts_each_claim_once(known, tables) -> None:
    """A claim with two different verdicts is mixed; counts are in the bars and the legend."""
    drawn = ledger.draw(ledger.collect(known, tables))
    expected = {
        "reproduced": 0, "contradicted": 1, "unresolved": 0, "mixed": 1, "not at this budget": 0,
        "budget unknown": 0, "not run": 2,
    }  # fmt: skip
    (below,) = drawn.subfigs  # so that the legend is not drawn over the title
    labels = [text.get_text() for text in below.legends[0].get_texts()]
    assert labels == [f"{name}: {number}" for name, number in expected.items()]
    (axes,) = drawn.get_axes()
    papers = [label.get_text() for label in axes.get_yticklabels()]
    assert papers == ["Knoblauch et al. (2018)  (3)", "Li et al. (2021)  (1)"]
    assert [text.get_text() for text in axes.texts if text.get_text()] == ["1", "1", "1", "1"]
    title = "2 of 4 claims could be judged: 0 are reproduced, 1 contradicted"
    assert drawn.get_suptitle() == title
    ends = [box.get_x() + box.get_width() for box in axes.patches]
    assert max(ends[::2]) == 3 and max(ends[1::2]) == 1


def test_the_figure_is_one_screen_and_grey_tells_its_verdicts_apart(known, tables) -> None:
    rows = ledger.collect(known, tables)
    width, height = ledger.draw(pd.concat([rows] * 3)).get_size_inches() * figure_style.DPI
    assert height < width / 2
    grey = {
        name: (round(np.dot(to_rgb(style["facecolor"]), LUMINANCE), 1), style.get("hatch"))
        for name, style in _ledger_figure.STYLES.items()
    }
    assert len(set(grey.values())) == len(grey)


@pytest.mark.long
def test_the_same_rows_give_the_same_bytes(known, tables, tmp_path: Path) -> None:
    rows = ledger.collect(known, tables)
    for name in ("first", "second"):
        figure_files.save(ledger.draw(rows), tmp_path / name)
    for kind in ("svg", "png"):
        assert (tmp_path / f"first.{kind}").read_bytes() == (
            tmp_path / f"second.{kind}"
        ).read_bytes()


def test_what_is_no_table_of_claims_is_named(known, tmp_path: Path) -> None:
    (tmp_path / "claims.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match=r"claims\.csv is not a table of claims \(no column claim"):
        ledger.collect(known, {("cpu", "one"): tmp_path / "claims.csv"})

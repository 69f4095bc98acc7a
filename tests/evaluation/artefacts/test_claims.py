"""The table of claims: our scores beside the paper's numbers, and the verdict."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from shiftbench.config import paper_training
from shiftbench.config.claim_schema import Claim
from shiftbench.config.paper_training import PaperTraining
from shiftbench.evaluation.artefacts import claims
from tests.evaluation.scoring import stores

METRICS = ["squared_error", "absolute_error"]
ABOUT = {
    "name": "a-above-b", "work": "knoblauch2018robust", "where": "5.1", "read": "text",
    "says": "A is above B.",
    "stream": {"family": "toy-step"}, "metric": "squared_error", "paper": "2 against 1",
    "code": "3", "ours_may": "another protocol", "holds": {"above": ["a", "b"]},
}  # fmt: skip


@pytest.fixture(autouse=True)
def gate(monkeypatch):
    """Declare that the paper trains nothing on the stream, so that the training share is 1."""
    known = PaperTraining(place="5.1", family="toy-step", untrained=True)
    monkeypatch.setattr(paper_training, "works", lambda: {"knoblauch2018robust": [known]})


def study(*entries, a=(2.0, 2.5, 3.0), b=(1.0, 1.5, 1.9)):
    stream = stores.toy_stream(3)
    runs = []
    for name, values in (("a", a), ("b", b)):
        both = np.add([np.zeros(3), [0.0003, 0.0004, 0.0005]], values)
        score = np.repeat(both[:, :, None], stream.sizes["task"], axis=2)
        runs.append(stores.run_store(score, METRICS, stream, name, [["x", {}]]))
    made = stores.study("toy-step", stream, METRICS, runs, cuts="cut short")
    found = [Claim.model_validate_json(json.dumps(ABOUT | one)) for one in entries]
    return dataclasses.replace(
        made, claims=[(one, ["toy-step"]) for one in found], labels={"a": "Method A"}
    )


def test_a_row_has_the_paper_ours_and_the_verdict() -> None:
    (row,) = claims.tabulate(study({})).to_dict("records")
    assert row == {
        "claim": "a-above-b", "paper": "Knoblauch et al. (2018)", "where": "5.1",
        "read": "text", "says": "A is above B.", "stream": "toy-step", "metric": "squared_error",
        "printed": "2 against 1", "code": "3", "scores": "Method A 2.5; b 1.467",
        "measured": "a - b", "ours": "1.033", "low": "0.8899", "high": "1.177",
        "from": "0", "to": "", "seeds": "3", "share": "1", "verdict": "reproduced",
        "ours_may": "another protocol",
    }  # fmt: skip


def test_another_score_is_another_verdict() -> None:
    made = study({}, a=(0.1, 0.4, 1.0))
    row = claims.tabulate(made).iloc[0]
    assert row["verdict"] == "contradicted"
    assert float(row["low"]) < float(row["ours"]) < float(row["high"]) < 0


def test_of_several_conditions_the_one_that_fails_is_shown() -> None:
    table = claims.tabulate(
        study(
            {"holds": {"value": {"a": 2.5, "b": 9}, "within": 5}}, {"holds": {"at_most": {"a": 1}}}
        )
    )
    assert table["measured"].tolist() == ["b", "a"]
    assert table["from"].tolist() == ["4", ""] and table["to"].tolist() == ["14", "1"]
    assert table["verdict"].tolist() == ["contradicted"] * 2


def test_two_metrics_have_their_names() -> None:
    holds = {"of": "a", "metric_below": "absolute_error"}
    row = claims.tabulate(study({"holds": holds})).iloc[0]
    assert row["scores"] == "squared_error 2.5; absolute_error 2.5"
    assert row["measured"] == "squared_error - absolute_error of a"


@pytest.mark.parametrize("scores", [(2.0, np.nan, np.nan), (np.nan,) * 3], ids=["one", "none"])
def test_no_interval_without_two_seeds(scores) -> None:
    row = claims.tabulate(study({}, a=scores)).iloc[0]
    assert (row["low"], row["high"], row["verdict"]) == ("", "", "unresolved")
    assert ("failed" in row["scores"]) == (row["seeds"] == "0") == (row["ours"] == "")
    assert claims.shown(claims.tabulate(study({}, a=scores)))["ours"].iloc[0] == row["ours"]


def test_people_read_the_interval_beside_the_number() -> None:
    shown = claims.shown(claims.tabulate(study({})))
    assert shown["ours"].iloc[0] == "1.033 [0.8899, 1.177]"
    assert shown["where"].iloc[0] == "Knoblauch et al. (2018), 5.1 (text)"


def test_the_caption_says_what_decides_and_what_is_cut() -> None:
    words = claims.caption(study({}))
    assert "95 % interval" in words and "3 of 3 runs per method" in words and "cut short" in words


def test_a_bound_says_how_tight_it_is_and_holds() -> None:
    one = {"check": True, "holds": {"of": "a", "metric_below": "absolute_error"}}
    (row,) = claims.tabulate(study(one)).to_dict("records")
    assert row["verdict"] == "holds"
    assert row["scores"].endswith("; the first is 1 of the second")

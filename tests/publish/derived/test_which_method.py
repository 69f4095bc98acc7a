"""The table of situations names the best methods by published scores, with and without memory."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from shiftbench.core import checkout as checkout_of_package
from shiftbench.core.errors import UserError
from shiftbench.publish.derived import which_method
from shiftbench.publish.derived.evidence import PublishedResults

CONFIG = """
studies:
  one:
    title: Four methods
    streams: {digits: {family: permuted-images, dataset: digits, tasks: 2}}
    model: {mlp: {hidden: [5]}}
    metrics: [accuracy, acc]
    artefacts: [score-table]
    seeds: 4
    methods:
      - finetune
      - ewc-online
      - er: {rehearsal.size: 7}
      - joint
"""
SITUATION = (
    "- {situation: New permutations, study: mine/one, metric: acc, measured: accuracy at the end}\n"
)
SCORES = {
    "finetune": [0.5, 0.6, 0.5, 0.6],
    "ewc-online": [0.7, 0.8, 0.7, 0.9],
    "er": [0.81, 0.82, 0.83, 0.84],
    "joint": [0.9, 0.9, 0.9, 0.9],
}


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a checkout with one study: two methods without memory, one with, and a bound."""
    for folder in ("config", "docs", "published/mine/studies/one"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "config/mine.yaml").write_text(CONFIG)
    monkeypatch.setattr(checkout_of_package, "CONFIGS", tmp_path / "config")
    rows = [
        {"study": "one", "stream": "digits", "learner": method, "method": method,
         "metric": "acc", "seed": seed, "status": "ok", "score": score}
        for method, scores in SCORES.items()
        for seed, score in enumerate(scores)
    ]  # fmt: skip
    pd.DataFrame(rows).to_csv(tmp_path / "published/mine/studies/one/scores.csv", index=False)
    return tmp_path


def ranked(checkout: Path, situations: str = SITUATION) -> which_method.Ranked:
    (checkout / "docs/situations.yaml").write_text(situations)
    (one,) = which_method.situations(checkout, PublishedResults(checkout / "published"))
    return one


def test_methods_with_a_memory_have_a_line_of_their_own_and_bounds_none(checkout):
    found = ranked(checkout)
    judged = (
        "By accuracy at the end (`acc`), higher is better; 4 seeds; published settings, not tuned."
    )
    assert found.judged == judged
    without, with_memory = found.lines
    assert without.kept == "none"
    assert without.best == "EWC online: 77.5 %"
    assert without.lead == "Fine-tuning: by 22.5"
    assert with_memory.kept == "7 rows of each task"
    assert with_memory.best == "ER: 82.5 %"
    assert (with_memory.tied, with_memory.lead) == ("", "")


def test_methods_that_seeds_do_not_separate_are_named(checkout):
    path = checkout / "published/mine/studies/one/scores.csv"
    rows = pd.read_csv(path)
    rows.loc[rows["learner"] == "finetune", "score"] = [0.9, 0.6, 0.9, 0.6]
    rows.to_csv(path, index=False)
    without, _ = ranked(checkout).lines
    assert (without.best, without.tied, without.lead) == ("EWC online: 77.5 %", "Fine-tuning", "")


def test_methods_are_counted_where_their_names_take_too_much_room():
    long = "Kronecker, Page-Hinkley and a soft reset"
    named = {"": [], long: [long], "A and B": ["A", "B"], "2 others": ["A", long]}
    assert {which_method._named(labels) for labels in named.values()} == set(named)
    assert which_method._named(["A", "B", "C"]) == "3 others"


def test_a_single_seed_separates_nothing_and_is_said(checkout):
    path = checkout / "published/mine/studies/one/scores.csv"
    rows = pd.read_csv(path)
    rows[rows["seed"] == 0].to_csv(path, index=False)
    found = ranked(checkout)
    assert "1 seed, so no test;" in found.judged
    assert [line.tied for line in found.lines] == ["", ""]


def test_seeds_with_the_same_scores_separate_nothing_and_it_is_said(checkout):
    path = checkout / "published/mine/studies/one/scores.csv"
    rows = pd.read_csv(path)
    rows["score"] = rows.groupby(["stream", "metric", "learner"])["score"].transform("first")
    rows.to_csv(path, index=False)
    found = ranked(checkout)
    assert "4 seeds, all alike, so no test;" in found.judged
    assert [line.tied for line in found.lines] == ["", ""]


def test_a_line_of_another_form_is_refused(checkout):
    with pytest.raises(UserError, match=r"(?s)situations\.yaml: .*metric"):
        ranked(checkout, "- {situation: New permutations, study: mine/one, measured: accuracy}\n")

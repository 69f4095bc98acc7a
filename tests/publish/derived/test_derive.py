"""Committed files that can be derived are up to date; outdated ones are named."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from shiftbench.config import components, config_file, json_schema, reference, specs
from shiftbench.evaluation.artefacts import claims
from shiftbench.evaluation.scoring import results, tidy_files
from shiftbench.publish import result_files
from shiftbench.publish.derived import derive, paper_columns, tables
from tests.checkout import PUBLISHED, ROOT

README = """\
# Ours

- **Beams.** <!-- finding: lead --><!-- /finding -->

<!-- table: papers -->
<!-- /table -->
"""
FINDINGS = """\
lead:
  says: Six hypotheses lead one by {lead} points {lead.interval}.
  rests_on:
    lead: {study: mine/one, leads: [six, one]}
"""
NEEDS_RUNS = {
    "average-accuracy": "the spread within segments is of scores by task",
    "changepoint-dates": "the dates and the sizes of changes are in the streams",
    "changepoint-table": "the scores of detectors that do not look need the series",
    "continual-table": "the settings that won are read from the runs",
    "detection-table": "online alarms are read from the runs",
    "published-table": "the printed numbers are found by the specs of streams and runs",
    "rate-distortion-table": "the numbers of words and periods are in the streams",
    "referral-table": "the printed numbers are found by the specs of streams and runs",
    "regression-table": "the units of targets are in the streams",
    "regret-table": "the printed numbers are found by the specs of streams and runs",
    "word-changes": "the words that changed are in the runs",
}
"""All other tables, with the reason why they need files that are not committed."""


def test_what_is_committed_is_up_to_date() -> None:
    assert derive.check(ROOT, of_studies=False) == []


@pytest.mark.long
def test_tables_of_studies_and_figures_are_up_to_date() -> None:
    assert derive.check(ROOT, figures=True) == []


def test_every_kind_of_table_is_derived_or_says_why_not() -> None:
    kinds = {name for name in components.names("artefacts") if _kind(name) == "table"}
    assert kinds == {*tables.FROM_SCORES, *NEEDS_RUNS}
    assert not set(tables.FROM_SCORES) & NEEDS_RUNS.keys()


def _kind(artefact: str) -> str:
    return components.artefact_kind(artefact)


@pytest.fixture
def checkout(tmp_path, monkeypatch) -> Path:
    """Return a small checkout with one published study, derived."""
    monkeypatch.setattr(reference, "text", lambda: "reference")
    monkeypatch.setattr(json_schema, "text", lambda: "{}")
    claim = {"name": "a", "work": "li2021vbs", "where": "5", "read": "text"}
    claim |= {"says": "So.", "metric": "f1", "code": "", "ours_may": "", "paper": "9"}
    monkeypatch.setattr(derive, "_library", lambda: ([claim], {}, []))
    study = tmp_path / "results/published/mine/studies/one"
    study.mkdir(parents=True)
    rows = [
        {"study": "one", "stream": "digits", "learner": method, "method": method,
         "metric": "accuracy", "seed": seed, "score": mean + 0.001 * seed * mean, "status": "ok"}
        for method, mean in (("six", 0.9), ("one", 0.8))
        for seed in range(5)
    ]  # fmt: skip
    pd.DataFrame(rows).to_csv(study / "scores.csv", index=False)
    pd.DataFrame(rows)[:1].to_csv(study / "summary.csv", index=False)
    origin = {"core_hours": 0.5, "runs": 2, "commit": "abc"}
    (study / result_files.PROVENANCE).write_text(json.dumps(origin))
    sums = result_files.checksums(result_files.of_study(tmp_path / "results/published/mine", "one"))
    (study / result_files.CHECKSUMS).write_text(sums)
    for name in ("config", "docs"):
        (tmp_path / name).mkdir()
    (tmp_path / "docs/findings.yaml").write_text(FINDINGS)
    (tmp_path / "README.md").write_text(README)
    assert derive.derive(tmp_path, figures=False) == []
    return tmp_path


def test_a_derived_checkout_is_up_to_date_and_says_its_numbers(checkout) -> None:
    assert derive.check(checkout) == []
    said = (checkout / "README.md").read_text()
    assert "-->Six hypotheses lead one by 10.0 points [10.0, 10.0].<!-- /finding -->" in said
    assert "| Li et al. (2021) | 0 (0) |" in said


def test_a_changed_number_in_a_page_is_out_of_date(checkout) -> None:
    page = checkout / "README.md"
    page.write_text(page.read_text().replace("by 10.0", "by 11.0"))
    (said,) = derive.check(checkout)
    assert said.startswith("README.md: line 3 has ") and said.endswith("; run `make derived`")
    assert "11.0" in said and "10.0" in said


def test_a_line_that_only_became_longer_is_shown_where_it_did(tmp_path) -> None:
    for name, end in (("old", "."), ("new", ". And more.")):
        (tmp_path / name).write_text("word " * 40 + "end" + end + "\n")
    for pair in (("old", "new"), ("new", "old")):
        said = derive._first_difference(*(tmp_path / name for name in pair))
        assert said.startswith("line 1 has ") and said.count("And more.") == 1


def test_an_old_ledger_is_out_of_date(checkout) -> None:
    path = checkout / "results/published/ledger.csv"
    path.write_text(path.read_text().replace("not run", "reproduced", 1))
    (said,) = derive.check(checkout)
    assert said.startswith("results/published/ledger.csv: line 2 has ")


def test_an_edited_score_is_named_and_its_sentence_too(checkout) -> None:
    path = checkout / "results/published/mine/studies/one/scores.csv"
    rows = pd.read_csv(path)
    rows.loc[(rows["learner"] == "six") & (rows["seed"] == 0), "score"] = 0.1
    rows.to_csv(path, index=False)
    of_score, of_sentence = derive.check(checkout)
    assert of_score.startswith("results/published/mine/studies/one/scores.csv: changed since")
    assert of_sentence.startswith(
        "README.md: finding lead: the published results disagree: accuracy of six"
    )
    page = (checkout / "README.md").read_text()
    assert derive.update(checkout) == [of_score], "nothing is built upon it"
    assert (checkout / "README.md").read_text() == page
    assert "no resolved lead" in of_sentence and "Six hypotheses lead one by" in of_sentence


def test_tables_from_committed_scores_are_those_of_the_workflow(tmp_path) -> None:
    plan = config_file.load(ROOT / "config/embedded.yaml")
    study = PUBLISHED / "embedded/studies/regimes"
    made = tables.derive(study, plan, tmp_path)
    assert "tables/regime-table.csv" in made and "tables/regime-table.md" in made
    for name in made:
        assert (tmp_path / name).read_bytes() == (study / name).read_bytes(), name


def test_tables_from_committed_scores_know_what_those_of_the_workflow_know() -> None:
    plan = config_file.load(ROOT / "config/embedded.yaml")
    study = PUBLISHED / "embedded/studies/regimes"
    made = tables.results_of(study, plan, "regime-table", scores_of(study))
    known = results.of_spec(specs.artefact(plan, "regimes", "regime-table"), {}, made.summary, {})
    assert known.method_styles and known.labels and known.cells
    others = {"scores", "summary", "streams", "claims"}
    for name in {field.name for field in dataclasses.fields(known)} - others:
        assert getattr(made, name) == getattr(known, name), name


def test_older_notes_on_our_training_become_those_of_today(tmp_path) -> None:
    plan = config_file.load(ROOT / "config/cpu.yaml")
    published = PUBLISHED / "cpu/studies/split-cifar"
    study = tmp_path / "split-cifar"
    names = ("scores.csv", "summary.csv", "tables/continual-table.csv", "tables/continual-table.md")
    for name in names:
        (study / name).parent.mkdir(parents=True, exist_ok=True)
        text = (published / name).read_text()
        (study / name).write_text(text.replace("0.0026 of the paper's", "0.05 of the paper's"))
    assert paper_columns.derive(study, plan, study) == [*names[1:]]
    for name in names:
        assert (study / name).read_bytes() == (published / name).read_bytes(), name
    assert paper_columns.derive(study, plan, study) == []


def test_summaries_and_the_ledger_have_the_same_shares_of_training() -> None:
    ledger = pd.read_csv(PUBLISHED / "ledger.csv", dtype=str, keep_default_na=False)
    of_one = ledger[ledger["measured"].isin(["vogn", "vcl-improved", "ewc", "si", "joint"])]
    assert len(of_one) > 9
    for row in of_one.to_dict("records"):
        path = PUBLISHED / row["config"] / "studies" / row["study"] / "summary.csv"
        rows = pd.read_csv(path, dtype=str, keep_default_na=False)
        rows = rows[(rows["learner"] == row["measured"]) & (rows["metric"] == row["metric"])]
        (note,) = rows.loc[rows["stream"] == row["stream"], "published_note"]
        share = "" if row["share"] == "1" else f"{row['share']} of the paper's training"
        assert note == share, row


def scores_of(study: Path) -> xr.Dataset:
    return tidy_files.cube(tidy_files.read(study / "scores.csv"))


def a_claim(name: str, *methods: str) -> SimpleNamespace:
    holds = SimpleNamespace(methods=list(methods), metrics=[])
    return SimpleNamespace(name=name, metric="f1", holds=holds)


def test_published_shares_are_known_of_published_claims_alone(tmp_path) -> None:
    (tmp_path / "tables").mkdir()
    rows = [{"claim": "old", "stream": "digits", "share": 0.5}, {"claim": "unknown"}]
    table = pd.DataFrame(rows, columns=list(claims.COLUMNS)).fillna({"stream": "digits"})
    table.to_csv(tmp_path / "tables/claims.csv", index=False)
    found = [(a_claim(*one), ["digits"]) for one in (("old", "a"), ("unknown", "b"), ("new", "c"))]
    assert tables._published_shares(tmp_path, found) == {("f1", "digits", "a"): 0.5}


def test_a_claim_newer_than_the_scores_waits_for_them() -> None:
    methods = {"first": "a", "second": "b"}
    values = {("digits", "f1"): {"first": np.zeros(2)}}
    old, new = a_claim("old", "a"), a_claim("new", "a", "b")
    judged = tables._with_scores([(old, ["digits", "other"]), (new, ["digits"])], methods, values)
    assert judged == [(old, ["digits"])]


def test_checksums_of_derived_files_replace_the_old_ones(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("new")
    listed = tmp_path / result_files.CHECKSUMS
    listed.write_text("0  a.csv\n1  b.csv\n2  gone.csv\n")
    result_files.update_checksums(tmp_path, ["a.csv", "gone.csv"])
    digest = hashlib.sha256(b"new").hexdigest()
    assert listed.read_text() == f"{digest}  a.csv\n1  b.csv\n"

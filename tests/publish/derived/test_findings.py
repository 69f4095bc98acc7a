"""A finding shows the numbers of its evidence, or names evidence that disagrees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from shiftbench.config import library
from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring import summarise
from shiftbench.publish.derived import findings, pages, statements
from shiftbench.publish.derived.evidence import Evidence, PublishedResults
from tests.checkout import PUBLISHED, ROOT

MEANS = {"strong": 0.9, "even": 0.8, "weak": 0.8}
CLOCK = {"metric": "alarm_f1"}
LEDGER = {
    "config": "mine", "study": "one", "stream": "digits", "metric": "accuracy",
    "ours": "0.3", "low": "0.1", "high": "0.5",
}  # fmt: skip
CLAIMS = [
    ("A (2020)", "both", "reproduced"),
    ("A (2020)", "both", "not at this budget"),
    ("A (2020)", "either", "reproduced"),
    ("A (2020)", "either", "contradicted"),
    ("B (2021)", "none", "not run"),
]


@pytest.fixture
def published(tmp_path: Path) -> PublishedResults:
    """Return published results of three methods on two streams, with trials, costs and a ledger."""
    study = tmp_path / "mine/studies/one"
    study.mkdir(parents=True)
    noise = {"strong": (0, 1, 2, 3, 4), "even": (1, 3, 0, 4, 2), "weak": (2, 4, 1, 0, 3)}
    rows = [
        {"study": "one", "stream": stream, "learner": method, "method": method,
         "metric": "accuracy", "seed": seed, "status": "ok",
         "score": mean + 0.002 * noise[method][seed]}
        for stream in ("digits", "letters")
        for method, mean in MEANS.items()
        for seed in range(5)
    ]  # fmt: skip
    pd.DataFrame(rows).to_csv(study / "scores.csv", index=False)
    summary = {"study": "one", "stream": "digits", "learner": "strong", "metric": "accuracy"}
    summary |= {"mean": MEANS["strong"], "n": 5, "published": 0.94, "status": "5 of 5 runs"}
    table = pd.DataFrame([summary], columns=list(summarise.COLUMNS))
    table.to_csv(study / "summary.csv", index=False)
    choices = tmp_path / "mine/studies/one-tuning/choices/digits"
    choices.mkdir(parents=True)
    for method in MEANS:
        (choices / f"{method}.json").write_text(json.dumps({"trials": [{}, {}]}))
    (study / "tables").mkdir()
    clocks = [
        (stream, method, lead, lead - 0.1, lead + 0.1, p)
        for stream, method, lead, p in [
            ("digits", "strong", 0.2, 0.01), ("letters", "strong", 0.3, 0.02),
            ("digits", "weak", -0.1, 0.01), ("letters", "weak", 0.1, 0.3),
            ("all streams", "strong", 0.25, 0.001), ("digits", "", float("nan"), float("nan")),
        ]
    ]  # fmt: skip
    ends = ("", "_low", "_high", "_p")
    columns = ["stream", "learner", *(f"alarm_f1_over_clock{end}" for end in ends)]
    pd.DataFrame(clocks, columns=columns).to_csv(study / "tables/detection-table.csv", index=False)
    names = ("paper", "claim", "verdict")
    rows = [LEDGER | dict(zip(names, claim, strict=True)) for claim in CLAIMS]
    pd.DataFrame(rows).to_csv(tmp_path / "ledger.csv", index=False)
    costs = {"config": "mine", "runs": 4, "core_hours": 0.1, "trials": 0.15}
    pd.DataFrame([costs]).to_csv(tmp_path / "costs.csv", index=False)
    return PublishedResults(tmp_path)


def row(**keys: Any) -> dict[str, Any]:
    return {"study": "mine/one", "streams": "digits"} | keys


def said(published: PublishedResults, says: str, **rows: dict[str, Any]) -> str:
    finding = findings.ComputedSentence.model_validate({"says": says, "rests_on": rows})
    return findings.sentence("it", finding, published)


@pytest.mark.parametrize(
    ("says", "rows", "expected"),
    [
        ("It has {a} %.", {"value": "strong"}, "It has 90.4 %."),
        ("The best has {a} %.", {"best": "strong"}, "The best has 90.4 %."),
        ("It leads by {a} {a.interval}.", {"leads": ["strong", "even"]},
         "It leads by 10.0 [9.5, 10.5]."),
        ("It leads by {a}.", {"leads": ["strong", "even"], "streams": "*"},
         "It leads by 10.0 to 10.0."),
        ("It leads on {a} of {a.of}.", {"counts": ["strong", "even"], "streams": "*"},
         "It leads on 2 of 2."),
        ("It leads on {a} of {a.of}.", {"counts": ["even", "weak"], "streams": "*"},
         "It leads on 0 of 2."),
        ("{a} is not resolved.", {"unresolved": ["even", "weak"]}, "0.0 is not resolved."),
        ("The paper has {a}.", {"paper": "strong"}, "The paper has 94.0."),
        ("All had {a} trials.", {"trials": "all"}, "All had 2 trials."),
        ("It took {a}.", {"costs": "mine"}, "It took 15.0 minutes."),
        ("It beats a clock by {a} {a.interval}.", CLOCK | {"beats_clock": "strong"},
         "It beats a clock by 20.0 [10.0, 30.0]."),
        ("It beats a clock by {a} on all.",
         CLOCK | {"beats_clock": "strong", "streams": "all streams"},
         "It beats a clock by 25.0 on all."),
        ("It beats a clock on {a} of {a.of}.",
         CLOCK | {"clock_counts": "*", "streams": "*"}, "It beats a clock on 2 of 4."),
        ("On {a.of} streams it is not resolved ({a}).",
         CLOCK | {"no_better_than_clock": "weak", "streams": "*"},
         "On 2 streams it is not resolved (-10.0 to 10.0)."),
    ],
)  # fmt: skip
def test_a_sentence_has_the_numbers_of_its_rows(published, says, rows, expected) -> None:
    assert said(published, says, a=row(**rows)) == expected


@pytest.mark.parametrize(
    ("says", "rows", "problem"),
    [
        ("It leads by {a}.", {"leads": ["even", "weak"]}, "corrected p = .*no resolved lead"),
        ("It leads by {a}.", {"leads": ["even", "strong"]}, "no resolved lead"),
        ("{a} is not resolved.", {"unresolved": ["strong", "weak"]}, "it is resolved"),
        ("The best has {a}.", {"best": "weak"}, "strong has the best accuracy, not weak"),
        ("It is {a}.", {"claim": "none"}, "the claim none is not run, not reproduced"),
        ("The paper has {a}.", {"paper": "weak"}, "no paper's number is published for weak"),
        (
            "It beats a clock by {a}.",
            CLOCK | {"beats_clock": "weak"},
            "weak over a clock in mine/one on digits is -10.0 .* no resolved lead",
        ),
        ("It is not resolved ({a}).", CLOCK | {"no_better_than_clock": "strong"}, "it is resolved"),
    ],
)
def test_what_is_published_otherwise_is_named_beside_what_is_said(
    published, says, rows, problem
) -> None:
    with pytest.raises(
        UserError, match=rf"finding it: the published results disagree: .*{problem}"
    ) as no:
        said(published, says, a=row(**rows))
    assert f'The prose says: "{says}"' in str(no.value)


def test_trials_that_differ_in_number_are_not_alike(published) -> None:
    path = published.folder / "mine/studies/one-tuning/choices/digits/even.json"
    path.write_text(json.dumps({"trials": [{}]}))
    with pytest.raises(UserError, match="even of mine/one had 1 trials, strong 2"):
        said(published, "All had {a} trials.", a=row(trials="all"))
    path.unlink()
    with pytest.raises(UserError, match="even of mine/one had no trials"):
        said(published, "All had {a} trials.", a=row(trials="all"))


@pytest.mark.parametrize(
    ("says", "problem"),
    [
        ("It has 90.4 %, or {a}.", 'the number "0.4" is typed'),
        ("It leads by {a}.", '"leads" needs a row with .*counts or leads'),
        ("It has {a}, tuned alike.", '"alike" needs a row with trials'),
        ("It has the highest score, {a}.", '"highest" needs a row with best'),
        ("{a} is not resolved.", '"resolved" needs a row with .*counts or .*unresolved'),
        ("It has none.", "the number of the row a is not shown"),
        ("It has {b} and {a}.", "no row for the placeholder"),
        ("{a} " + "word " * 30, "a sentence has more than 30 words"),
    ],
)
def test_words_that_no_row_supports_are_refused(published, says, problem) -> None:
    with pytest.raises(UserError, match=problem):
        said(published, says, a=row(value="strong"))


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"value": "gone"}, 'the study "mine/one" has no method "gone"'),
        ({"value": "even", "metric": "nll"}, 'no metric "nll" on a stream "digits"'),
        ({"value": "even", "study": "mine/two"}, 'no scores of the study "mine/two"'),
        ({}, "a row has one of value, best, "),
        ({"value": "even", "best": "even"}, "here: value, best"),
    ],
)
def test_a_row_about_nothing_is_an_error(published, keys, problem) -> None:
    with pytest.raises(UserError, match=problem):
        statements.answer(published, Evidence.model_validate(row(**keys)))


def test_claims_are_counted_once_and_their_judgements_in_brackets(published) -> None:
    lines = pages.papers(Path(), published).splitlines()
    assert lines[0] == (
        "| paper | reproduced | contradicted | unresolved | mixed | not at this budget "
        "| unknown | not run |"
    )
    assert lines[2:5] == [
        "| A (2020) | 1 (2) | 0 (1) | 0 (0) | 1 | 0 (1) | 0 (0) | 0 |",
        "| B (2021) | 0 (0) | 0 (0) | 0 (0) | 0 | 0 (0) | 0 (0) | 1 |",
        "| all | 1 (2) | 0 (1) | 0 (0) | 1 | 0 (1) | 0 (0) | 1 |",
    ]


def test_papers_without_a_line_of_their_own_share_one(published) -> None:
    lines = pages.papers(Path(), published, ["B (2021)"]).splitlines()
    assert lines[2:5] == [
        "| B (2021) | 0 (0) | 0 (0) | 0 (0) | 0 | 0 (0) | 0 (0) | 1 |",
        "| 1 others | 1 (2) | 0 (1) | 0 (0) | 1 | 0 (1) | 0 (0) | 0 |",
        "| all | 1 (2) | 0 (1) | 0 (0) | 1 | 0 (1) | 0 (0) | 1 |",
    ]


def test_markers_without_end_or_of_nothing_are_named(tmp_path, published) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/findings.yaml").write_text("it: {says: A., rests_on: {}}\n")
    page = tmp_path / "README.md"
    page.write_text("a <!-- finding: it -->B.<!-- /finding --> <!-- table: gone --><!-- /table -->")
    assert pages.fill(tmp_path, published) == [
        'README.md: no table is called "gone"; there are papers, five-papers, configs,'
        " which-method, works, paper-hours, paper-hours-of-fits, cheaper-fits"
    ]
    assert page.read_text().startswith("a <!-- finding: it -->A.<!-- /finding -->")
    page.write_text("a <!-- finding: it -->")
    (problem,) = pages.fill(tmp_path, published)
    assert problem.startswith("README.md: a marker has no end")
    page.write_text("a <!-- finding: it -->A.<!-- /finding --> It leads by 2.6 points [2.0, 3.3].")
    (problem,) = pages.fill(tmp_path, published)
    assert problem.startswith('README.md: the result "6 points" is typed')


def test_a_sentence_waits_for_the_results_of_a_planned_study(
    tmp_path: Path, published: PublishedResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "OURS", tmp_path / "config")
    entry = "{says: 'It has {n} %.', rests_on: {n: {study: cpu/coming, value: strong}}}"
    for folder in ("docs", "config"):
        (tmp_path / folder).mkdir()
    (tmp_path / "docs/findings.yaml").write_text(f"it: {entry}\n")
    for name in pages.CONFIGS:
        (tmp_path / f"config/{name}.yaml").write_text("studies: [one, {coming: {from: one}}]\n")
    page = tmp_path / "README.md"
    page.write_text("<!-- finding: it -->\nIt has 1.0 %.\n<!-- /finding -->\n")
    assert pages.fill(tmp_path, published) == []
    assert page.read_text() == "<!-- finding: it -->\n\n<!-- /finding -->\n"
    (tmp_path / "config/cpu.yaml").write_text("studies: [one]\n")
    (problem,) = pages.fill(tmp_path, published)
    assert problem.startswith('README.md: finding it: no scores of the study "cpu/coming" are')


def test_the_processor_time_of_our_configs_is_in_a_table() -> None:
    table = pages.configs(ROOT, PublishedResults(PUBLISHED))
    assert [line.split(" | ")[0] for line in table.splitlines()[2:]] == [
        "| `embedded`", "| `cpu`", "| `paper`",
    ]  # fmt: skip
    assert "minutes" in table.splitlines()[2] and "hours" in table.splitlines()[3]

"""Pages of papers: claims in the paper's units, each interval beside its number."""

from __future__ import annotations

import pandas as pd

from shiftbench.evaluation.overview import ledger
from shiftbench.publish.site import paper_page
from tests.checkout import PUBLISHED

ROW = {
    "claim": "a", "metric": "acc", "says": "A leads B.", "where": "Table 1", "printed": "",
    "scores": "A 0.9; B 0.8", "measured": "A - B", "ours": 0.1, "low": 0.05, "high": 0.15,
    "stream": "digits", "config": "cpu", "study": "one", "share": 1.0, "seeds": 5,
    "ours_may": "", "paper": "A (2020)",
}  # fmt: skip


def test_an_interval_stands_beside_what_decides() -> None:
    value = {"scores": "MFVI 3.278; Radial 3.095", "measured": "mfvi", "metric": "rmse"}
    value |= {"ours": 3.2784, "low": 2.86, "high": 3.76}
    small = {"scores": "A 0.08; B 4.2e-05", "measured": "A - B", "metric": "rmse"}
    small |= {"ours": 0.00107, "low": 1.34e-05, "high": 0.00212}
    share = {"scores": "A 0.6", "measured": "a", "ours": 0.825, "low": 0.7, "high": 0.9}
    large = {"ours": 1482.1, "low": 619.0, "high": 2340.4, "metric": "rmse"}
    of_three = {"scores": "A 0.9; B 0.8; C 0.7"}
    rows = [ROW, ROW | value, ROW | share, ROW | large, ROW | of_three, ROW | small]
    table = pd.DataFrame(
        [row | {"verdict": "reproduced", "claim": i} for i, row in enumerate(rows)]
    )
    (place,) = paper_page.places(paper_page.claimed(table))
    assert [(one.ours, one.interval) for (one,) in place.lines] == [
        ("A: 0.9; B: 0.8", "difference 0.1 [0.05, 0.15]"),
        ("MFVI: 3.278 [2.86, 3.76]; Radial: 3.095", ""),
        ("A: 0.6", "share 0.825 [0.7, 0.9]"),
        ("A: 0.9; B: 0.8", "difference 1,482 [619, 2,340]"),
        ("A: 0.9; B: 0.8; C: 0.7", "A - B: 0.1 [0.05, 0.15]"),
        ("A: 0.08; B: 0.000042", "difference 0.00107 [0.0000134, 0.00212]"),
    ]


def test_a_mixed_claim_says_who_disagrees() -> None:
    judged = ["reproduced", "contradicted", "contradicted", "not run"]
    rows = pd.DataFrame([ROW | {"verdict": verdict} for verdict in judged])
    (line,) = paper_page.summary(rows).undecided
    assert line.votes == "contradicted on 2, reproduced on 1 of 3 studies and streams"
    alone = paper_page.summary(rows[:1])
    assert [one.votes for one in alone.holds] == [""]


def test_the_page_counts_the_claims_that_it_lists_and_the_ledger_counts() -> None:
    rows = pd.read_csv(PUBLISHED / "ledger.csv", dtype=str, keep_default_na=False)
    by_paper = ledger.by_paper(rows).sum(axis=1)
    for paper, own in rows.groupby("paper", sort=False):
        found = paper_page.summary(own)
        decided = [*found.holds, *found.fails, *found.undecided]
        assert len(decided) + sum(found.waiting.values()) == by_paper[paper], paper


def test_a_check_that_is_not_run_keeps_its_reason() -> None:
    reason = {"verdict": "check not run", "ours_may": "the records are not fetched"}
    empty = dict.fromkeys(("scores", "low", "high", "stream", "study", "share", "seeds"), "")
    rows = pd.DataFrame([ROW | empty | reason])
    assert paper_page.summary(rows).waiting == {}
    ((line,),) = paper_page.places(paper_page.claimed(rows))[0].lines
    assert (line.ours, line.why) == ("", "the records are not fetched")


def test_units_are_those_of_the_paper_and_checks_have_one_line() -> None:
    known = pd.read_csv(PUBLISHED / "ledger.csv", dtype=str, keep_default_na=False)
    own = known[known["paper"] == "Altamirano et al. (2023)"]
    shown = [
        line.ours
        for table in paper_page.places(paper_page.claimed(own))
        for lines in table.lines
        for line in lines
    ]
    assert any(text.startswith("DSM-BOCPD: 0.9952") for text in shown), (
        "a paper that prints .907 has no percent"
    )
    own = known[known["paper"] == "Li et al. (2021)"]
    names = [table.name for table in paper_page.places(paper_page.claimed(own))]
    assert names == ["Table 1", "Figure 2", "Figure 4", "Figure 5", "In the text"]
    own = known[known["paper"].str.startswith("Ch\u00e9rief")]
    lines = [lines for table in paper_page.places(paper_page.claimed(own)) for lines in table.lines]
    (bound,) = [one for one in lines if one[0].where.startswith("Theorem 1 (slides)")]
    rows = own[own["claim"] == "sva-regret-below-its-bound"]
    assert [one.ours for one in bound] == [f"holds on {len(rows)} of {len(rows)} streams"]


def test_a_score_that_a_metric_names_is_in_words() -> None:
    scores = "accuracy_first_hypothesis 0.838; VGS 0.846"
    more = {"metric": "accuracy", "printed": "70", "verdict": "reproduced", "claim": 1}
    rows = pd.DataFrame([ROW | {"scores": scores} | more])
    ((line,),) = paper_page.claimed(rows)
    assert line.ours.startswith("accuracy first hypothesis: 83.8 %; VGS: 84.6 %")

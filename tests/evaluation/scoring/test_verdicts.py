"""Verdicts follow from the scores, for each predicate and each verdict."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from shiftbench.config import paper_training
from shiftbench.config.claim_schema import Claim
from shiftbench.config.paper_training import PaperTraining
from shiftbench.evaluation.scoring import verdicts
from tests.evaluation.scoring import stores

METRICS = ["squared_error", "absolute_error"]


@pytest.fixture(autouse=True)
def gate(monkeypatch):
    """Declare that the paper trains nothing on the stream, so that the training share is 1."""
    known = PaperTraining(place="Table 1", family="toy-step", untrained=True)
    monkeypatch.setattr(paper_training, "works", lambda: {"eschenhagen2019vogn": [known]})


ABOUT = {
    "name": "a-claim", "work": "eschenhagen2019vogn", "where": "Table 1", "read": "table",
    "says": "So it is.", "stream": {"family": "toy-step"}, "metric": "squared_error",
}  # fmt: skip


def claim(holds, **more) -> Claim:
    return Claim.model_validate_json(json.dumps(ABOUT | {"holds": holds} | more))


def study(second=None, fixed=False, **scores):
    """Return a study with scores [seed] of each method; `second` has those of another metric.

    fixed: all seeds see the same data.
    """
    seeds = max(map(len, scores.values()))
    stream = stores.toy_stream(1 if fixed else seeds)
    runs = []
    for name, values in scores.items():
        both = np.stack([values, (second or {}).get(name, values)]).astype(float)
        score = np.repeat(both[:, :, None], stream.sizes["task"], axis=2)
        runs.append(stores.run_store(score, METRICS, stream, name, [["x", {"epochs": 5}]]))
    return stores.study("toy-step", stream, METRICS, runs)


def verdict(holds, second=None, exact=False, fixed=False, **scores) -> str:
    found = study(second, fixed, **scores)
    return verdicts.judge(claim(holds, exact=exact), found, "toy-step").verdict


REPRODUCED, CONTRADICTED, UNRESOLVED = "reproduced", "contradicted", "unresolved"
LOW, MIDDLE, HIGH = [1.0, 1.1, 1.2, 1.1], [1.4, 1.6, 1.7, 1.5], [2.0, 2.1, 2.2, 2.15]
WIDE = [0.0, 4.0, 1.0, 3.0]


@pytest.mark.parametrize(
    ("holds", "scores", "expected"),
    [
        ({"above": ["a", "b"]}, {"a": HIGH, "b": LOW}, REPRODUCED),
        ({"above": ["a", "b"]}, {"a": LOW, "b": HIGH}, CONTRADICTED),
        ({"above": ["a", "b"]}, {"a": WIDE, "b": LOW}, UNRESOLVED),
        ({"above": ["a", "b"]}, {"a": LOW, "b": LOW}, UNRESOLVED),
        ({"above": ["a", "b"], "by": 0.5}, {"a": HIGH, "b": LOW}, REPRODUCED),
        ({"above": ["a", "b"], "by": 1.5}, {"a": HIGH, "b": LOW}, CONTRADICTED),
        ({"above": ["a", "b", "c"]}, {"a": HIGH, "b": MIDDLE, "c": LOW}, REPRODUCED),
        ({"above": ["a", "b", "c"]}, {"a": HIGH, "b": LOW, "c": MIDDLE}, CONTRADICTED),
        ({"above": ["a", "b", "c"]}, {"a": HIGH, "b": MIDDLE, "c": WIDE}, UNRESOLVED),
        ({"above": ["a", "b", "c"]}, {"a": WIDE, "b": LOW, "c": HIGH}, CONTRADICTED),
        ({"below": ["a", "b"]}, {"a": LOW, "b": HIGH}, REPRODUCED),
        ({"below": ["a", "b"], "by": 1.5}, {"a": LOW, "b": HIGH}, CONTRADICTED),
        ({"value": {"a": 2.1}, "within": 0.3}, {"a": HIGH}, REPRODUCED),
        ({"value": {"a": 1.1}, "within": 0.3}, {"a": HIGH}, CONTRADICTED),
        ({"value": {"a": 1.9}, "within": 0.2}, {"a": HIGH}, UNRESOLVED),
        ({"value": {"a": 2.1, "b": 2.1}, "within": 0.3}, {"a": HIGH, "b": LOW}, CONTRADICTED),
        ({"at_least": {"a": 1.9}}, {"a": HIGH}, REPRODUCED),
        ({"at_least": {"a": 1.9}}, {"a": LOW}, CONTRADICTED),
        ({"at_most": {"a": 1.9}}, {"a": LOW}, REPRODUCED),
        ({"at_most": {"a": 1.9, "b": 1.9}}, {"a": LOW, "b": HIGH}, CONTRADICTED),
        ({"alike": ["a", "b"], "within": 1.2}, {"a": HIGH, "b": LOW}, REPRODUCED),
        ({"alike": ["a", "b"], "within": 0.2}, {"a": HIGH, "b": LOW}, CONTRADICTED),
        ({"alike": ["a", "b"], "within": 0.2}, {"a": WIDE, "b": LOW}, UNRESOLVED),
        ({"difference": ["a", "b"], "value": 1, "within": 0.2}, {"a": HIGH, "b": LOW}, REPRODUCED),
        ({"difference": ["a", "b"], "value": -1, "within": 0.2}, {"a": HIGH, "b": LOW},
         CONTRADICTED),
        ({"ratio": ["a", "b"], "value": -0.5, "within": 0.1}, {"a": LOW, "b": HIGH}, REPRODUCED),
        ({"ratio": ["a", "b"], "value": 0.5, "within": 0.1}, {"a": LOW, "b": HIGH}, CONTRADICTED),
    ],
)  # fmt: skip
def test_the_interval_decides(holds, scores, expected) -> None:
    assert verdict(holds, **scores) == expected


@pytest.mark.parametrize(
    ("key", "other", "expected"),
    [
        ("metric_below", HIGH, REPRODUCED),
        ("metric_below", [0.5, 0.6, 0.7, 0.65], CONTRADICTED),
        ("metric_below", WIDE, UNRESOLVED),
        ("metric_above", [0.5, 0.6, 0.7, 0.65], REPRODUCED),
        ("metric_above", HIGH, CONTRADICTED),
        ("metric_below", LOW, UNRESOLVED),
    ],
)
def test_two_metrics_of_one_method(key, other, expected) -> None:
    holds = {key: "absolute_error", "of": "a"}
    assert verdict(holds, second={"a": other}, a=LOW) == expected


def test_methods_are_compared_seed_by_seed() -> None:
    shift = np.array([0.0, 5.0, 10.0, 15.0])
    found = verdicts.judge(
        claim({"above": ["a", "b"]}), study(a=shift + HIGH, b=shift + LOW), "toy-step"
    )
    assert found.verdict == REPRODUCED
    assert found.decisive.ours.mean == pytest.approx(1.0125)
    assert found.decisive.words == "a - b" and found.decisive.ours.n == 4


def test_a_failed_seed_is_left_out_and_without_any_nothing_is_said() -> None:
    made = verdicts.judge(claim({"at_least": {"a": 1.9}}), study(a=[*HIGH, np.nan]), "toy-step")
    assert (made.verdict, made.decisive.ours.n) == (REPRODUCED, 4)
    assert verdict({"at_least": {"a": 1.9}}, a=[np.nan, np.nan]) == UNRESOLVED


def test_a_share_of_seeds_has_wilsons_interval_and_a_failed_seed_is_not_over() -> None:
    many = [0.1] * 30 + [0.9] * 8 + [np.nan] * 2
    found = verdicts.judge(claim({"at_most": {"a": 0.4}}, over=0.5), study(a=many), "toy-step")
    ours = found.decisive.ours
    assert (ours.mean, ours.n) == (8 / 40, 40)
    assert (ours.low, ours.high) == pytest.approx((0.1050, 0.3476), abs=1e-4)
    assert found.verdict == REPRODUCED
    none = verdicts.judge(claim({"at_most": {"a": 0.01}}, over=0.95), study(a=many), "toy-step")
    assert none.verdict == UNRESOLVED and none.decisive.ours.low == 0 < none.decisive.ours.high


def test_a_seed_that_was_not_run_is_no_failure() -> None:
    made = study(a=[0.9] * 5 + [np.nan] * 5)
    made.cube["status"][..., 5:] = ""
    ours = verdicts.judge(claim({"at_least": {"a": 0.9}}, over=0.5), made, "toy-step").decisive.ours
    assert (ours.mean, ours.n) == (1.0, 5)


def test_shares_of_two_methods_are_compared_seed_by_seed() -> None:
    low, high = 2 * [0.1, 0.1, 0.1, 0.9, 0.1, 0.1], 2 * [0.9, 0.9, 0.1, 0.9, 0.9, 0.9]
    found = verdicts.judge(claim({"above": ["b", "a"]}, over=0.5), study(a=low, b=high), "toy-step")
    assert found.decisive.ours.mean == pytest.approx(4 / 6) and found.verdict == REPRODUCED


@pytest.mark.parametrize(
    ("exact", "score", "expected"),
    [(False, 2.0, UNRESOLVED), (True, 2.0, REPRODUCED), (True, 1.0, CONTRADICTED)],
)
def test_one_seed_decides_where_nothing_is_random(exact, score, expected) -> None:
    assert verdict({"at_least": {"a": 1.9}}, exact=exact, a=[score]) == expected


@pytest.mark.parametrize("exact", [False, True])
def test_equal_seeds_do_not_decide_where_data_are_random(exact) -> None:
    """A study with several data sets has something random, also if the paper has not."""
    assert verdict({"at_least": {"a": 1.9}}, exact=exact, a=[2.0, 2.0, 2.0]) == UNRESOLVED


@pytest.mark.parametrize(
    ("exact", "score", "expected"),
    [(False, 2.0, UNRESOLVED), (True, 2.0, REPRODUCED), (True, 1.0, CONTRADICTED)],
)
def test_equal_seeds_on_the_same_data_decide_as_one_does(exact, score, expected) -> None:
    """A study may have a random method beside the exact one that the claim is about."""
    at_least = {"at_least": {"a": 1.9}}
    assert verdict(at_least, exact=exact, fixed=True, a=[score] * 3) == expected


def test_seeds_that_differ_are_not_exact() -> None:
    assert verdict({"at_least": {"a": 1.9}}, exact=True, fixed=True, a=WIDE) == UNRESOLVED


@pytest.fixture
def table(monkeypatch):
    """Declare that the paper trains method a on 60 rows of the data set for 10 epochs."""
    about = {"place": "Table 1", "family": "toy-step", "where": {"points": 30}}
    known = PaperTraining(**about, rows={"small": 60}, epochs={"a": 10})
    monkeypatch.setattr(paper_training, "works", lambda: {"eschenhagen2019vogn": [known]})


def on_data(made, dataset="small"):
    """Return the study as if its stream was made from a data set."""
    stream = made.streams["toy-step"]
    settings = {"dataset": dataset, "points": 30}
    spec = json.loads(stream.attrs["spec"]) | {"settings": settings}
    changed = {"toy-step": stream.assign_attrs(spec=json.dumps(spec))}
    return dataclasses.replace(made, streams=changed)


@pytest.mark.usefixtures("table")
def test_too_small_a_share_of_the_training_has_no_verdict(monkeypatch) -> None:
    made = on_data(study(a=HIGH, b=LOW))
    assert made.share("toy-step", "a", "squared_error", "eschenhagen2019vogn") == 30 / 60 * 5 / 10
    assert made.share("toy-step", "b", "squared_error", "eschenhagen2019vogn") == 30 / 60
    assert made.share("toy-step", "a", "squared_error", "li2021vbs") is None
    found = []
    for least in (0.25, 0.3):
        monkeypatch.setattr(paper_training, "LEAST", least)
        found.append(verdicts.judge(claim({"above": ["a", "b"]}), made, "toy-step"))
    assert [one.verdict for one in found] == [REPRODUCED, "not at this budget"]
    assert found[0].share == 30 / 60 * 5 / 10  # the smallest share of its methods


@pytest.mark.usefixtures("table")
def test_on_other_data_the_least_that_the_paper_trains_on_counts() -> None:
    made = on_data(study(a=HIGH), "large")
    assert made.share("toy-step", "a", "squared_error", "eschenhagen2019vogn") == 30 / 60 * 5 / 10


@pytest.mark.usefixtures("table")
def test_a_stream_that_the_gate_does_not_know_has_no_verdict() -> None:
    found = verdicts.judge(claim({"above": ["a", "b"]}), study(a=HIGH, b=LOW), "toy-step")
    assert (found.verdict, found.share) == ("budget unknown", None)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ({"a": HIGH, "b": LOW}, "holds"),
        ({"a": LOW, "b": HIGH}, "fails"),
        ({"a": WIDE, "b": LOW}, "open"),
    ],
)
@pytest.mark.usefixtures("table")
def test_a_check_is_judged_at_any_budget_and_is_nothing_reproduced(scores, expected) -> None:
    found = verdicts.judge(claim({"above": ["a", "b"]}, check=True), study(**scores), "toy-step")
    assert found.verdict == expected not in verdicts.VERDICTS


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (["reproduced", "reproduced"], "reproduced"),
        (["reproduced", "not at this budget"], "reproduced"),
        (["not at this budget"] * 2, "not at this budget"),
        (["budget unknown", "contradicted"], "contradicted"),
        (["not run"], "not run"),
        (["reproduced", "contradicted"], "mixed"),
        (["unresolved", "contradicted", "not at this budget"], "mixed"),
    ],
)
def test_a_claim_of_several_verdicts_has_one_or_is_mixed(found, expected) -> None:
    assert verdicts.of_claim(found) == expected

"""The table of claims of knoblauch2018robust: its YAML against the studies, its numbers over
several seeds.

`test_segmentation.py` has one seed, and what a claim must hold.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from shiftbench.artefacts import paper_and_code
from shiftbench.planning import components, config
from tests.scoring import stores

CONFIG = Path(__file__).parents[2] / "config"
ERRORS = {"standard": [4.0, 2.0, 6.0], "robust": [1.0, 5.0, 3.0], "robust-strong": [9.0, 1.0, 2.0]}
"""Squared errors of three seeds; means 4, 3 and 4."""


def study(dataset, errors, metrics=("squared_error",), status=None):
    """A study with these scores [seed] of each learner on a stream named `series`."""
    spec = {"stream": "series", "family": "series", "settings": {"dataset": dataset}}
    stream = stores.toy_stream(3).assign_attrs(spec=json.dumps(spec))
    runs = []
    for name, values in errors.items():
        score = np.tile(np.array(values)[:, None], (len(metrics), 1, stream.sizes["task"]))
        failed = (status or {}).get(name)
        runs.append(
            stores.run_store(score, list(metrics), stream, name, [["x", {}]], status=failed)
        )
    return stores.study("series", stream, list(metrics), runs, cuts="cut short")


def published():
    """(dataset, learner, metric) of all studies that publish the table."""
    found = set()
    for path in (CONFIG / "embedded.yaml", CONFIG / "cpu.yaml"):
        plan = config.load(path)
        for one in plan.studies.values():
            if "paper-and-code" in one.artefacts:
                datasets = {plan.streams[name].settings["dataset"] for name in one.streams}
                found |= {
                    (d, name, m) for d in datasets for name in one.learners for m in one.metrics
                }
    return found


def test_every_claim_is_in_a_published_table():
    offered = published()
    for claim in paper_and_code.claims():
        for learner in {claim["learner"], claim.get("relative_to", claim["learner"])}:
            assert (claim["dataset"], learner, claim["metric"]) in offered, claim


def test_claims_are_text_and_no_two_look_alike():
    rows = [
        (claim["dataset"], claim["learner"], claim["metric"]) for claim in paper_and_code.claims()
    ]
    assert len(rows) == len(set(rows))
    for claim in paper_and_code.claims():
        assert all(isinstance(value, str) for value in claim.values()), claim
        assert claim["claim"] and claim["why"] and (claim["paper"] or claim["code"]), claim


def test_relative_claims_are_about_errors_of_which_less_is_better():
    relative = [claim for claim in paper_and_code.claims() if "relative_to" in claim]
    assert relative
    for claim in relative:
        assert components.constant("metrics", claim["metric"], "HIGHER_IS_BETTER") is False
        assert claim["relative_to"] != claim["learner"]


def test_rows_are_the_claims_as_written_with_the_mean_over_seeds():
    metrics = ("squared_error", "absolute_error")
    table = paper_and_code.tabulate(study("well-log", ERRORS, metrics))
    claims = [claim for claim in paper_and_code.claims() if "relative_to" in claim]
    assert table.columns.tolist() == ["stream", "claim", "paper", "code", "ours", "why"]
    for name in ("claim", "paper", "code", "why"):
        assert table[name].tolist() == [claim[name] for claim in claims]
    # 3 against 4; the mean of the three ratios would be 8.3 % higher.
    assert table["ours"].tolist() == ["25.0 % lower"] * 2
    assert table["stream"].tolist() == ["series"] * 2


def claim(learner, **more):
    keys = dict.fromkeys(("claim", "paper", "code", "why"), "")
    about = {"dataset": "nile", "learner": learner, "metric": "squared_error"}
    return keys | about | more


def ours(monkeypatch, made, *claims):
    monkeypatch.setattr(paper_and_code, "claims", lambda: claims)
    return paper_and_code.tabulate(made)["ours"].tolist()


def test_a_failed_seed_enters_no_mean(monkeypatch):
    status = {"robust": ["ok", "failed: not finite", "ok"]}
    made = study("nile", ERRORS, status=status)
    assert ours(monkeypatch, made, claim("standard"), claim("robust")) == ["4", "2"]
    assert "robust 2 of 3 runs; 1 failed: not finite" in paper_and_code.caption(made)


def test_the_sign_is_that_of_the_change_of_the_means(monkeypatch):
    errors = {"low": [1.0, 2.0, 3.0], "high": [2.0, 3.0, 4.0]}
    found = ours(
        monkeypatch,
        study("nile", errors),
        claim("high", relative_to="low"),
        claim("low", relative_to="high"),
    )
    assert found == ["50.0 % higher", "33.3 % lower"]


@pytest.mark.parametrize(
    ("learners", "count"),
    [(["standard", "robust"], 1), (["robust"], 0), (["standard"], 0)],
    ids=["both", "without-the-other", "without-its-own"],
)
def test_a_relative_claim_needs_both_learners(monkeypatch, learners, count):
    made = study("nile", {name: ERRORS[name] for name in [*learners, "robust-strong"]})
    about = claim("robust", relative_to="standard")
    found = ours(monkeypatch, made, about, claim("robust-strong"))
    assert found == ["25.0 % lower"] * count + ["4"]


def test_the_caption_states_what_the_columns_are_and_what_is_cut():
    words = paper_and_code.caption(study("well-log", ERRORS))
    assert re.search(r"paper: as printed; code: .*measured; ours: .*mean over seeds", words)
    assert "3 of 3 runs per learner" in words and "cut short" in words

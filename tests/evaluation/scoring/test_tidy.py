"""The tidy table has every score with its coordinates, enough to remake the summary."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from shiftbench.evaluation.scoring import statistics, summarise, tidy
from tests.evaluation.scoring import stores

METRICS = ["accuracy", "accuracy_first_hypothesis"]
SPEC = {
    "study": "s",
    "metrics": METRICS,
    "learners": {"vcl": [], "mine": []},
    "methods": {"vcl": "vcl-bnn"},
    "reference": None,
    "streams": ["images"],
}


@pytest.fixture(scope="module")
def made():
    stream = stores.image_stream()
    failed = ["ok", "failed: NaN in task 4, again", "ok"]
    runs = [
        stores.image_run(stream, "vcl", 0.8, status=failed),
        stores.image_run(stream, "mine", 0.7, n=2),
    ]
    tree, summary = summarise.summarise(SPEC, {"images": stream}, runs)
    text = tidy.tidy(SPEC, tree).to_csv(index=False)
    return pd.read_csv(io.StringIO(text), keep_default_na=False), summary


def test_a_row_is_a_stream_learner_metric_and_seed(made):
    table, _ = made
    assert tuple(table.columns) == tidy.COLUMNS
    assert table["learner"].tolist() == ["vcl"] * 6 + ["mine"] * 4
    assert table["metric"].tolist()[:6] == ["accuracy"] * 3 + ["accuracy_first_hypothesis"] * 3
    assert table["seed"].tolist()[:6] == [0, 1, 2, 0, 1, 2]
    assert table["seed"].tolist()[6:] == [0, 1, 0, 1], "it has no third seed"
    pairs = table[["learner", "method"]].itertuples(index=False, name=None)
    assert set(pairs) == {
        ("vcl", "vcl-bnn"),
        ("mine", ""),
    }


def test_a_failed_seed_has_its_status_and_no_score(made):
    table, _ = made
    rows = table[(table["learner"] == "vcl") & (table["seed"] == 1)]
    assert rows["score"].tolist() == ["", ""]
    assert set(rows["status"]) == {"failed: NaN in task 4, again"}


def test_the_summary_can_be_made_of_it(made):
    table, summary = made
    table = table.assign(score=pd.to_numeric(table["score"]))
    for row in summary.itertuples():
        own = table[(table["learner"] == row.learner) & (table["metric"] == row.metric)]
        found = statistics.interval(own["score"].to_numpy(), statistics.bounds(row.metric))
        assert found == (row.mean, row.sd, row.ci_low, row.ci_high, row.n)
        assert np.isfinite(found.low)

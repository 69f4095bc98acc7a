"""The table of neighbours: order, pairs, and resolved and unresolved differences."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.evaluation.artefacts import neighbours
from shiftbench.evaluation.scoring import comparison, study_ranking
from tests.evaluation.scoring import continual_stores, stores


@pytest.fixture(scope="module")
def study():
    return continual_stores.study(("finetune", "ewc", "vogn", "joint"), seeds=5)


def test_neighbours_are_those_of_the_ranking_by_acc(study):
    table = neighbours.tabulate(study)
    ends = {name: study.score("permuted-mnist", name, "acc").mean() for name in study.methods}
    order = sorted(ends, key=lambda name: -ends[name])
    assert study_ranking.leading_metric(study, "neighbours") == "acc"
    assert table["learner"].tolist() == order[:-1] and table["next"].tolist() == order[1:]


def test_a_row_has_the_comparison_in_percentage_points(study):
    row = neighbours.tabulate(study).iloc[-1]
    scores = [study.score("permuted-mnist", row[key], "acc") for key in ("learner", "next")]
    found = comparison.compare(*scores, 0.01, (0.0, 1.0))
    mean, _, low, high, n = found.difference.times(100)
    assert row["difference"] == f"{mean:.2f} [{low:.2f}, {high:.2f}]"
    assert (row["smallest"], row["seeds"]) == (f"{100 * found.smallest:.2f}", n)
    assert row["resolved"] == "yes" and float(row["p"]) < 0.05


def test_p_is_corrected_over_the_pairs_of_the_stream(study):
    table = neighbours.tabulate(study)
    scores = [study.score("permuted-mnist", name, "acc") for name in table["learner"]]
    scores.append(study.score("permuted-mnist", table["next"].iloc[-1], "acc"))
    single = [comparison.compare(*pair, 0.01).p for pair in pairwise(scores)]
    assert [float(p) for p in table["p"]] == pytest.approx(comparison.corrected(single), rel=5e-3)


def test_of_one_seed_nothing_is_resolved():
    table = neighbours.tabulate(continual_stores.study(("ewc", "vogn"), seeds=1))
    row = table.iloc[0]
    assert (row["p"], row["resolved"], row["equivalent"], row["smallest"]) == ("", "no", "", "")
    assert row["seeds"] == 1 and "[" not in row["difference"]


def test_where_less_is_better_the_least_is_first_and_units_are_the_metrics():
    study = stores.online_study()
    table = neighbours.tabulate(study)
    metric = "average_cumulative_loss"
    assert study_ranking.leading_metric(study, "neighbours") == metric
    means = {name: study.score("breast-cancer", name, metric).mean() for name in study.methods}
    assert table["learner"][0] == min(means, key=lambda name: means[name])
    assert float(table["difference"][0].split()[0]) < 0
    assert "1 % of the mean over methods" in neighbours.caption(study)


def test_learners_without_a_score_are_named():
    stream = stores.image_stream()
    runs = [
        stores.image_run(stream, name, 0.8, status=["failed: NaN"] * 3 if name == "lp" else None)
        for name in ("vcl", "lp", "vbs-k3")
    ]
    study = stores.study("images", stream, stores.IMAGE_METRICS[:1], runs)
    assert len(neighbours.tabulate(study)) == 1
    assert "Without a score: lp. " in neighbours.caption(study)


def test_a_study_without_a_direction_has_no_neighbours():
    stream = stores.image_stream()
    runs = [stores.image_run(stream, name, 0.8) for name in ("vcl", "lp")]
    study = stores.study("images", stream, ["n_changepoints"], runs)
    with pytest.raises(UserError, match="more or less is better"):
        neighbours.tabulate(study)


def test_equal_learners_are_not_resolved():
    stream = stores.image_stream()
    runs = [stores.image_run(stream, name, 0.8) for name in ("vcl", "map")]
    study = stores.study("images", stream, ["accuracy"], runs)
    row = neighbours.tabulate(study).iloc[0]
    assert np.isclose(float(row["difference"].split()[0]), 0.0)
    assert (row["p"], row["resolved"]) == ("", "no")

"""The table of published numbers has all learners, for the metrics in the paper."""

from __future__ import annotations

import pytest

from shiftbench.core.errors import UserError
from shiftbench.evaluation.artefacts import published_table
from tests.evaluation.scoring import stores


def test_all_learners_stand_beside_what_a_paper_prints() -> None:
    stream = stores.online_stream(rows=40)
    runs = [stores.online_run(stream, module) for module in (stores.oga, stores.sva)]
    study = stores.study("regret", stream, stores.ONLINE_METRICS[:2], runs)
    table = published_table.tabulate(study)
    assert table["metric"].tolist() == ["average_cumulative_loss (loss per observation)"] * 2
    assert table["learner"].tolist() == [study.label(learner) for learner in study.methods]
    by_learner = table.set_index(study.cube["learner"].values)
    ours = study.score("breast-cancer", "sva", "average_cumulative_loss").mean()
    paper = study.published("breast-cancer", "sva", "average_cumulative_loss").mean
    assert by_learner["ours"]["sva"].startswith(f"{ours:.4f} [")
    assert float(by_learner["difference"]["sva"]) == pytest.approx(ours - paper, abs=5e-5)
    assert by_learner["note"]["sva"] == "0.07 of the paper's training"


def test_a_learner_that_failed_has_empty_cells_beside_what_a_paper_prints() -> None:
    stream = stores.online_stream(rows=40)
    runs = [stores.online_run(stream, module) for module in (stores.oga, stores.sva)]
    runs[1] = runs[1].assign(status=("seed", ["failed: x"] * runs[1].sizes["seed"]))
    study = stores.study("regret", stream, stores.ONLINE_METRICS[:2], runs)
    failed = published_table.tabulate(study).set_index(study.cube["learner"].values).loc["sva"]
    assert (failed["ours"], failed["difference"]) == ("", "")
    paper = study.published("breast-cancer", "sva", "average_cumulative_loss").mean
    assert failed["paper"] == f"{paper:.4g}"


def test_a_study_of_which_no_paper_has_a_number_is_refused() -> None:
    with pytest.raises(UserError, match="a method and a metric that a paper has numbers of"):
        published_table.tabulate(stores.toy_study())

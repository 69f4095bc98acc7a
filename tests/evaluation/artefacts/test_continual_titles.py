"""Titles, captions and table of continual learning on synthetic accuracy matrices."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import (
    accuracy_matrix,
    continual_table,
    per_task_accuracy,
    tasks_learnt,
)
from tests.evaluation.artefacts import paired
from tests.evaluation.artefacts.continual_panels import FIGURES, LEARNERS, at_end, interval, panel
from tests.evaluation.scoring import continual_stores, stores

STREAM = "permuted-mnist"


@pytest.fixture(scope="module")
def study():
    return continual_stores.study(LEARNERS)


def test_a_stream_is_named_once(study):
    store = study.streams[STREAM]
    assert figure_style.stream_title("s", store.assign_attrs(title="stream s")) == "s"
    assert (
        figure_style.stream_title("s", store.assign_attrs(title="Digits, permuted"))
        == "s: Digits, permuted"
    )


def test_a_dotted_line_is_told_where_it_is(study):
    told = per_task_accuracy.caption(study)
    assert "not ranked, dotted: independent, dashes and dots: joint." in told
    without = continual_stores.study(("ewc", "vogn"))
    assert "dotted" not in per_task_accuracy.caption(without)


@pytest.mark.parametrize("module", FIGURES)
def test_a_title_says_who_is_best_beside_the_bounds(study, module):
    averages = {name: at_end(name).mean() for name in LEARNERS}
    scratch, joint = (averages.pop(name) for name in study.bounds)
    best = max(averages, key=averages.get)
    said = (
        f"{STREAM}: after 10 tasks, {best} has the largest average accuracy of 3 methods,"
        f" {averages[best]:.1f} % (independent, each task just learnt: {scratch:.1f} %; joint:"
        f" {joint:.1f} %); all others are significantly worse"
    )
    ends = {name: continual_stores.matrix(name)[:, -1].mean(axis=1) for name in averages}
    assert paired.worse(ends.pop(best), [*ends.values()]).all()
    assert module.draw(study).subfigs[0].get_suptitle() == said
    assert module.caption(study).startswith(said)


def test_the_map_speaks_of_learners_from_scratch_only_where_one_is_drawn(study):
    assert "independent: nothing of the tasks before is known" in accuracy_matrix.caption(study)
    assert "scratch" not in accuracy_matrix.caption(continual_stores.study(["vogn"]))
    assert "nothing" not in accuracy_matrix.caption(continual_stores.study(["vogn"]))


def test_table_says_what_the_best_trial_changed():
    store = continual_stores.stream()
    points = {"ewc": {"map.strength": 10.0, "map.learning_rate": 0.003}, "vogn": {}}
    runs = [
        continual_stores.run(store, name, continual_stores.matrix(name), tuned=point)
        for name, point in points.items()
    ]
    study = continual_stores.study(["ewc", "vogn"], {STREAM: store}, runs=runs)
    told = continual_table.tabulate(study)["tuned"].tolist()
    assert told == ["strength: 10.0, learning_rate: 0.003", "as configured"]


def test_table_of_a_learner(study):
    table = continual_table.tabulate(study)
    assert table["learner"].tolist() == list(LEARNERS) and "tuned" not in table
    a = 100 * continual_stores.matrix("ewc")
    end = a[:, -1].mean(axis=1)
    low, high = interval(end)
    row = table.iloc[1]
    assert row["acc"] == f"{end.mean():.2f} [{low:.2f}, {high:.2f}]"
    learnt = np.diagonal(a, axis1=1, axis2=2)
    low, high = interval(learnt.mean(axis=1))
    assert row["learning_accuracy"] == f"{learnt.mean():.2f} [{low:.2f}, {high:.2f}]"
    assert row["bwt"].startswith(f"{(a[:, -1] - learnt)[:, :-1].mean():.2f} [")
    scratch = 100 * np.diagonal(continual_stores.matrix("independent"), axis1=1, axis2=2)
    assert row["fwt"].startswith(f"{(learnt - scratch)[:, 1:].mean():.2f} [")
    assert row["nll"].startswith(f"{(1 - a[:, -1] / 100).mean():.3f} [")
    assert row["ece"].startswith(f"{((100 - a[:, -1]) / 10).mean():.2f} [")
    assert row["runs"] == 3


def test_accuracy_on_tasks_just_learnt_is_a_column_of_studies_that_ask_for_it(study):
    metrics = [name for name in continual_stores.METRICS if name != "learning_accuracy"]
    without = continual_stores.study(LEARNERS, metrics=metrics)
    assert "learning_accuracy" not in continual_table.tabulate(without)
    assert "learning_accuracy" not in continual_table.caption(without)
    assert "learning_accuracy, accuracy on each task just learnt" in continual_table.caption(study)


def test_table_has_published_numbers_and_who_measured_them(study):
    table = continual_table.tabulate(study)
    assert table["acc_paper"].tolist() == ["", "84", "94 ± 0.8", "", ""]
    assert table["source"].tolist()[1] == "quoted: Nguyen et al. 2018"
    assert table["source"].tolist()[2] == "measured"
    assert "bwt_paper" not in table  # the paper has none for this stream


def test_table_2_of_the_paper():
    cifar = continual_stores.stream(
        "split-cifar", "split-images", 6, dataset="cifar-10-100", heads="multi"
    )
    table = continual_table.tabulate(continual_stores.study(LEARNERS, {"split-cifar": cifar}))
    row = table.set_index("learner")
    assert row.loc["ewc", "fwt_paper"] == "0.17 ± 0.9"
    assert row.loc["vogn", "bwt_paper"] == "-0.7 ± 0.5"
    assert row.loc["independent", "acc_paper"] == "73.6 ± 0.4"


def test_from_scratch_has_no_transfers_in_the_table(study):
    row = continual_table.tabulate(study).iloc[3]
    learnt = 100 * np.diagonal(continual_stores.matrix("independent"), axis1=1, axis2=2)
    assert row["acc"].startswith(f"{learnt.mean():.2f} [")
    assert row["bwt"] == row["fwt"] == ""
    assert row["nll"].startswith(f"{1 - learnt.mean() / 100:.3f} [")


def test_without_a_reference_the_caption_says_so():
    alone = continual_stores.study(["vogn", "ewc"])
    assert continual_table.tabulate(alone)["fwt"].tolist() == ["", ""]
    assert "the study names no reference" in continual_table.caption(alone)


def test_a_learner_whose_runs_all_failed_is_shown_as_such():
    stream = continual_stores.stream()
    matrix = continual_stores.matrix("vogn")
    failed = continual_stores.run(stream, "vogn", matrix, status=["failed: memory"] * 3)
    study = continual_stores.study(["ewc", "vogn"], {STREAM: stream}, runs=[failed])
    for module in FIGURES:
        module.draw(study)
        assert "3 failed: memory" in module.caption(study)
    axes = panel(tasks_learnt.draw(study), "vogn")
    assert axes.texts[0].get_text() == "failed"
    assert continual_table.tabulate(study)["acc"][1] == ""


@pytest.mark.parametrize("module", FIGURES)
def test_budget_and_cuts_are_in_every_caption(study, module):
    caption = module.caption(study)
    assert "3 of 3 runs per method" in caption
    assert "20 epochs a task in place of 100" in caption


def test_other_studies_are_refused():
    for module in FIGURES:
        with pytest.raises(UserError, match="need the metric accuracy on a stream that judges"):
            module.draw(stores.image_study())
    with pytest.raises(UserError, match="continual-table needs the metric acc; add it"):
        continual_table.tabulate(stores.image_study())


def test_what_a_method_keeps_is_that_of_a_seed_that_has_not_failed():
    assert continual_table._kept(np.array([np.nan, 40.0, 40.0])) == 40
    assert continual_table._kept(np.array([np.nan, np.nan])) == ""

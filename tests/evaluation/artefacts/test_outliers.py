"""The figure of outliers shows the numbers of its cells, with other axes at their last value."""

from __future__ import annotations

import dataclasses
import json
from itertools import product

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.data.series import simulated_changes
from shiftbench.evaluation.artefacts import outliers
from shiftbench.evaluation.scoring import alarms, summarise
from shiftbench.evaluation.scoring.results import StudyResults
from tests.evaluation.scoring import stores

AXES = {"outliers": [0.0, 0.1], "burst": [1, 5], "changes": [0, 2]}
SEEDS, TASKS = 4, 90
METRICS = ["crps", *outliers.ROWS]


@pytest.fixture(scope="module")
def study():
    """Return a study of methods with and without decisions, with random alarms and scores."""
    streams, cells, runs = {}, {}, []
    for number, point in enumerate(product(*AXES.values())):
        name, at = f"series-{number}", dict(zip(AXES, point, strict=True))
        made = {"realisations": SEEDS, "points": TASKS} | at
        store = simulated_changes.build(simulated_changes.Settings(**made), None)
        spec = {"stream": name, "family": "simulated-changes", "settings": made}
        streams[name], cells[name] = store.assign_attrs(spec=json.dumps(spec)), at
        runs += [run(streams[name], method, number) for method in ("cusum", "static")]
    spec = {"study": "outliers", "metrics": METRICS, "learners": ["cusum", "static"]}
    spec |= {"streams": list(streams), "methods": {}, "reference": None}
    tree, table = summarise.summarise(spec, streams, runs)
    made = StudyResults("outliers", "Outliers", "", "", stores.by_path(tree), table, streams)
    return dataclasses.replace(made, cells=cells)


def run(stream, method, number):
    random = np.random.default_rng(number)
    infos, learner = None, [["linear-gaussian", {}]]
    if method == "cusum":
        alarm = random.random((SEEDS, TASKS, 1)) < 0.1
        infos = {"shift": alarm * 1, "parent": alarm * 0, "log_weight": alarm * 0.0}
        infos["alarm_statistic"] = random.random(alarm.shape)
        learner = [["control-chart", {}]]
    score = random.random((1, SEEDS, TASKS))
    return stores.run_store(score, ["crps"], stream, method, learner, infos)


def test_each_number_is_that_of_its_cell(study):
    panels = outliers.draw(study).axes
    assert len(panels) == len(outliers.ROWS) * len(AXES["burst"])
    assert panels[1].get_title(loc="left").endswith("outliers in a row: 5")
    names = {tuple(at.values()): stream for stream, at in study.cells.items()}
    for row, metric in enumerate(outliers.ROWS):
        for column, burst in enumerate(AXES["burst"]):
            drawn = panels[2 * row + column].containers
            # A method without decisions has scores, but no alarms or delays.
            assert len(drawn) == (2 if metric == "crps_clean" else 1)
            for y, share in zip(drawn[0].lines[0].get_ydata(), AXES["outliers"], strict=True):
                scores = study.score(names[share, burst, 2], "cusum", metric)
                scores = scores * (100 if metric == "alarms_at_outliers" else 1)
                known = scores[~np.isnan(scores)]
                assert (len(known) == 0) == (share == 0 and metric == "alarms_at_outliers")
                assert y == pytest.approx(known.mean()) if len(known) else np.isnan(y)
    assert [text.get_text() for text in panels[0].get_xticklabels()] == ["0", "10"]
    window = alarms.horizon(study.streams[names[0.1, 5, 2]]).window
    assert f"at most {window})" in panels[2].get_ylabel()
    assert f"Shown for streams with 2 changes. {study.basis()}" in outliers.caption(study)


def scored(study, scores):
    """Return a study with these alarms at outliers and waits [seed] in its hardest cell."""
    cube = study.cube.copy(deep=True)
    names = {tuple(at.values()): stream for stream, at in study.cells.items()}
    for learner, values in scores.items():
        for metric, value in zip(outliers.ROWS, values, strict=False):
            place = {"stream": names[0.1, 5, 2], "learner": learner, "metric": metric}
            cube["score"].loc[place] = value
    return dataclasses.replace(study, scores={**study.scores, "scores": cube})


def test_the_title_says_who_has_the_fewest_false_alarms_at_the_most_outliers(study):
    names = {tuple(at.values()): stream for stream, at in study.cells.items()}
    stream = names[0.1, 5, 2]
    share, wait = (
        np.nanmean(study.score(stream, "cusum", name)) for name in list(outliers.ROWS)[:2]
    )
    window = alarms.horizon(study.streams[stream]).window
    said = (
        f"10 % outliers, 5 in a row: cusum has false alarms in {100 * share:.1f} % of bursts,"
        f" and its mean delay is {wait:.1f} values, where a missed change counts as {window}"
    )
    assert outliers.message(study) == outliers.draw(study).get_suptitle() == said
    assert outliers.caption(study).startswith(f"{said}. Down is better.")


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (
            {"static": (0.25, 9)},
            "static has the fewest false alarms of 2 methods, in 25.0 % of bursts"
            " (all seeds alike, so no test), and its mean"
            " delay is 9.0 values, where a missed change counts as 15",
        ),
        (
            {"cusum": ([0.5, 0.6, 0.7, 0.8], 9), "static": (0.25, 15)},  # t = 6.2
            "static has the fewest false alarms of 2 methods, in 25.0 % of bursts (the other is"
            " significantly worse), but it never raises an alarm within 15 values of a change",
        ),
        (
            {"cusum": (np.nan, 5), "static": (0.25, 9)},
            "static has false alarms in 25.0 % of bursts, and its mean delay is 9.0 values,"
            " where a missed change counts as 15",
        ),
        (
            {"static": (0.25, np.nan), "cusum": (np.nan, 5)},
            "static has false alarms in 25.0 % of bursts",
        ),
        ({"cusum": (np.nan, 5)}, "no method has a share of false alarms"),
        (
            {"cusum": (0, 15), "static": (0, 12.5)},
            "cusum and static have the fewest false alarms of 2 methods, in 0.0 % of bursts, and"
            " their mean delay is 12.5 to 15.0 values, where a missed change counts as 15",
        ),
        (
            {"cusum": (0, 9), "static": (0, 9)},
            "cusum and static have the fewest false alarms of 2 methods, in 0.0 % of bursts, and"
            " their mean delay is 9.0 values, where a missed change counts as 15",
        ),
        (
            {"cusum": (0, 15), "static": (0, 15)},
            "cusum and static have the fewest false alarms of 2 methods, in 0.0 % of bursts, but"
            " they never raise an alarm within 15 values of a change",
        ),
    ],
)
def test_the_title_is_true_for_ties_and_failed_methods(study, scores, said):
    message = outliers.message(scored(study, {"cusum": (0.5, 3)} | scores))
    assert message == f"10 % outliers, 5 in a row: {said}"


def test_methods_beyond_five_are_grey_and_said_to_be(study, monkeypatch):
    assert " Grey: " not in outliers.caption(study)
    monkeypatch.setattr(outliers.highlights, "MOST", 1)
    assert " Grey: static." in outliers.caption(study)
    drawn = outliers.draw(study).axes[-1].containers
    colours = {each.lines[0].get_label(): each.lines[0].get_color() for each in drawn}
    assert colours["static"] == outliers.highlights.GREY != colours["cusum"]


def test_the_title_does_not_rank_bounds(study):
    bound = dataclasses.replace(scored(study, {"static": (0.0, 9)}), bounds=["static"])
    assert ": cusum has false alarms in" in outliers.message(bound)


def test_a_study_without_axes_is_refused(study):
    with pytest.raises(UserError, match="outliers needs `axes`"):
        outliers.draw(dataclasses.replace(study, cells={}))

"""Lines over regimes, for pairs of methods and for detection, on synthetic scores."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import (
    _regime_lines,
    regime_detection,
    regime_map,
    regime_pairs,
)
from shiftbench.evaluation.scoring import ranking, statistics
from tests.evaluation.artefacts import paired, regime_stores
from tests.evaluation.artefacts.regime_panels import SMALL, texts


@pytest.fixture(scope="module")
def study():
    return regime_stores.results(SMALL)


def test_lines_have_a_gap_where_runs_failed():
    lost = [("digits-25", name) for name in ("vcl", "vgs", "independent")]
    study = regime_stores.results({"rows": [25, 400]}, failed=lost)
    _, below = regime_pairs.draw(study).get_axes()
    assert np.isnan(below.containers[0].lines[0].get_ydata()).tolist() == [True, False]
    recall, _ = regime_detection.draw(study).get_axes()
    assert np.isnan(recall.containers[1].lines[0].get_ydata()).tolist() == [True, False]


def test_a_failed_method_leaves_the_others_their_intervals():
    """They are of differences from the mean of the methods with scores, on the seeds of all."""
    study = regime_stores.results({"rows": [25, 400]}, failed=[("digits-25", "lp")])
    cube = study.cube.copy(deep=True)
    cube["score"].loc[{"learner": "vgs", "seed": 3}] = np.nan
    study = dataclasses.replace(study, scores={**_tree(study), "scores": cube})
    lines = _regime_lines.paired(study, "accuracy", "").lines
    there = [name for name in study.methods if name != "lp"]
    scores = {name: study.score("digits-25", name, "accuracy") for name in there}
    mean = np.mean(list(scores.values()), axis=0)
    for name in there:
        over, found = statistics.interval(scores[name] - mean), lines[name]("digits-25")
        assert over.n == 9 and found.mean == pytest.approx(100 * np.nanmean(scores[name]))
        assert found.high - found.low == pytest.approx(100 * (over.high - over.low))
    assert np.isnan(lines["lp"]("digits-25")[:4]).all()


def test_a_method_without_another_has_the_interval_of_its_scores():
    failed = [("digits-25", name) for name in regime_stores.STYLES if name != "vcl"]
    study = regime_stores.results({"rows": [25, 400]}, failed=failed)
    found = _regime_lines.paired(study, "accuracy", "").lines["vcl"]("digits-25")
    own = statistics.interval(study.score("digits-25", "vcl", "accuracy"), (0.0, 1.0))
    assert (found.low, found.high) == pytest.approx((100 * own.low, 100 * own.high))


def test_lines_of_pairs_are_the_differences(study):
    panels = regime_pairs.draw(study).get_axes()
    assert [panel.get_title(loc="left").split("$")[-1].strip() for panel in panels] == [
        "tasks per segment 3", "tasks per segment 6"
    ] * 2  # fmt: skip
    below = panels[3]
    drawn = below.containers[0].lines[0].get_ydata()
    for y, rows in zip(drawn, SMALL["rows"], strict=True):
        scores = [
            study.score(f"digits-{rows}-6", name, "accuracy") for name in ("vcl", "independent")
        ]
        assert y == pytest.approx(100 * (scores[0] - scores[1]).mean())
    assert len(panels[0].containers) == 2, "the two that decide about changes"
    assert "VBS, K = 3, VGS minus VCL" in regime_pairs.caption(study)


def test_the_title_of_pairs_counts_the_streams_with_a_benefit(study):
    said = regime_pairs.message(study)
    assert regime_pairs.draw(study).get_suptitle() == said
    assert regime_pairs.caption(study).startswith(f"{said}. ")
    first, memory = said.split("; ")
    ends = [
        ranking.advantage(
            "accuracy",
            study.score(stream, "vcl", "accuracy"),
            study.score(stream, "independent", "accuracy"),
        )
        for stream in study.streams
    ]
    better = sum(each.low > 0 for each in ends)
    worse = sum(each.high < 0 for each in ends)
    assert memory == (
        f"VCL leads {study.label('independent')} on {better or 'none'} of 4 streams and trails it"
        f" on {worse or 'none'} (95 % intervals, not corrected)"
    )
    assert first.startswith("Of 2 methods, ") and " leads VCL on " in first


def test_lines_of_detection_are_of_those_that_detect(study):
    panels = regime_detection.draw(study).get_axes()
    assert len(panels) == 4
    recall = panels[1].containers[0].lines[0].get_ydata()
    for y, rows in zip(recall, SMALL["rows"], strict=True):
        scores = study.score(f"digits-{rows}-6", "vbs", "shift_recall")
        assert y == pytest.approx(100 * scores.mean())
    assert all(len(panel.containers) == 2 for panel in panels)


def test_lines_of_detection_have_their_names_at_their_ends_and_percents(study):
    figure = regime_detection.draw(study)
    first, last, *_ = figure.get_axes()
    assert (texts(first), sorted(texts(last))) == ([], ["VBS, K = 3", "VGS"])
    assert first.get_ylabel() == "recall\n(%)" and first.get_ylim() == (-3, 103)
    assert not figure.legends


def test_the_title_says_who_finds_most_shifts_and_whose_are_true(study):
    means = {
        metric: {
            name: 100
            * np.mean([np.nanmean(study.score(cell, name, metric)) for cell in study.streams])
            for name in ("vbs", "vgs")
        }
        for metric in ("shift_recall", "shift_precision")
    }
    recall, precision = means.values()
    most, truest = max(recall, key=recall.get), max(precision, key=precision.get)
    said = regime_detection.message(study)
    assert said == (
        f"Over 4 streams, {study.label(most)} finds the most shifts of 2 methods,"
        f" {recall[most]:.1f} %; no other is significantly worse;"
        f" {'it also' if truest == most else study.label(truest)} has the highest precision,"
        f" {precision[truest]:.1f} %"
    )
    of_seeds = {
        name: np.mean([study.score(cell, name, "shift_recall") for cell in study.streams], axis=0)
        for name in recall
    }
    assert not paired.worse(of_seeds.pop(most), [*of_seeds.values()]).any()
    assert regime_detection.draw(study).get_suptitle() == said
    assert regime_detection.caption(study).startswith(said)


def test_a_panel_in_which_nothing_varies_is_a_sentence(study):
    cube = study.cube.copy(deep=True)
    there = {"stream": ["digits-25-3", "digits-400-3"], "metric": "shift_precision"}
    cube["score"].loc[there] = cube["score"].loc[there].where(cube["score"].loc[there].isnull(), 1)
    scores = study.scores | {"scores": cube}
    panels = regime_detection.draw(dataclasses.replace(study, scores=scores)).get_axes()
    assert [bool(panel.containers) for panel in panels] == [True, True, False, True]
    assert texts(panels[2]) == ["100 %\nthroughout"]
    assert panels[2].get_ylabel() == "precision\n(%)"


def test_detection_has_a_column_for_each_value_of_all_axes_but_the_first():
    axes = {"rows": [25, 50], "tasks_per_segment": [3, 6], "strength": [0.5, 1]}
    panels = regime_detection.draw(regime_stores.results(axes)).get_axes()
    assert [panel.get_title(loc="left").split("  ")[-1] for panel in panels[:4]] == [
        f"strength {strength},\ntasks per segment {segment}"
        for segment in (3, 6) for strength in (0.5, 1)
    ]  # fmt: skip
    assert all(len(panel.containers) == 2 for panel in panels)


@pytest.mark.long
def test_pairs_have_a_column_for_each_value_of_all_axes_and_no_legend_over_their_title():
    study = regime_stores.results(
        {"rows": [25, 50], "strength": [0.5, 1], "tasks_per_segment": [3, 6]}
    )
    figure = regime_pairs.draw(study)
    assert len(figure.get_axes()) == 8 and not figure.legends
    assert sorted(texts(figure.get_axes()[3])) == ["VBS, K = 3", "VGS"]
    assert len(regime_map.draw(study).get_axes()) == 4


def test_points_seem_to_lie_at_their_level():
    step, most = _regime_lines.STEP, _regime_lines.SPREAD
    assert figure_style.dodge(1, step / 4.5, most).tolist() == [0.0]
    assert np.ptp(figure_style.dodge(9, step / 4.5, most)) == pytest.approx(0.56 / 4.5)
    assert np.ptp(figure_style.dodge(9, step / 0.5, most)) == pytest.approx(most)


def test_a_panel_without_a_number_says_so(study):
    cube = study.cube.copy(deep=True)
    first = next(iter(study.streams))
    cells = [name for name in study.streams if study.cells[name] == study.cells[first]]
    value = [*study.cells[first].values()][1]
    of_panel = [n for n in study.streams if [*study.cells[n].values()][1] == value] or cells
    cube["score"].loc[{"stream": of_panel, "metric": "shift_recall"}] = np.nan
    lost = dataclasses.replace(study, scores={**_tree(study), "scores": cube})
    panel = regime_detection.draw(lost).get_axes()[0]
    assert [text.get_text() for text in panel.texts] == ["no method has\na number"]


def _tree(study):
    return {
        f"runs/{stream}/{name}": study.run(stream, name)
        for stream in study.streams
        for name in study.methods
    }

"""The map of regimes, its lines and its table, on synthetic scores."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from shiftbench.core.errors import UserError
from shiftbench.evaluation.artefacts import (
    _regime_lines,
    _regimes,
    regime_detection,
    regime_map,
    regime_pairs,
    regime_table,
)
from shiftbench.evaluation.scoring import comparison, ranking, statistics, study_ranking
from tests.evaluation.artefacts import paired, regime_stores
from tests.evaluation.scoring import stores

SMALL = {"rows": [25, 400], "tasks_per_segment": [3, 6]}


@pytest.fixture(scope="module")
def study():
    return regime_stores.results(SMALL)


@pytest.fixture(scope="module")
def cells(study):
    return _regimes.cells(study, "accuracy")


def texts(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def place(at) -> tuple[int, int]:
    """Return the cell, column and row of a point."""
    return int(at[0]), int(at[1])


def boxes(axes) -> list[Rectangle]:
    return [patch for patch in axes.patches if isinstance(patch, Rectangle)]


def test_a_cell_has_its_leader_and_who_shares_its_lead(study, cells):
    for stream, cell in cells.items():
        scores = {name: study.score(stream, name, "accuracy") for name in study.learners}
        best = max(scores, key=lambda name: scores[name].mean())
        assert cell.leader == best
        raw = {
            name: comparison.compare(scores[best], scores[name], 0.01).p
            for name in cell.scores
            if name != best
        }
        corrected = dict(zip(raw, comparison.corrected(list(raw.values())), strict=True))
        assert cell.tied == [name for name in raw if corrected[name] >= 0.05]
        assert cell.resolved == (not cell.tied)
    assert {cell.leader for cell in cells.values()} >= {"vbs", "finetune"}


def test_over_the_map_a_lead_is_over_all_others_and_corrected(cells):
    found = list(cells.values())
    largest = [max(lead.over.p for lead in cell.leads.values()) for cell in found]
    assert _regimes.over_map(found) == pytest.approx(comparison.corrected(largest))
    for cell, p in zip(found, _regimes.over_map(found), strict=True):
        assert p > 0.05 or cell.resolved, "what is resolved over the map is resolved in its cell"


def test_the_map_has_a_cell_for_each_stream_in_its_place(study, cells):
    left, right = regime_map.draw(study).get_axes()
    assert len(boxes(left)) == len(boxes(right)) == 4
    assert [tick.get_text() for tick in left.get_xticklabels()] == ["25", "400"]
    assert [tick.get_text() for tick in left.get_yticklabels()] == ["3", "6"]
    for x, rows in enumerate(SMALL["rows"]):
        for y, segment in enumerate(SMALL["tasks_per_segment"]):
            cell = cells[f"digits-{rows}-{segment}"]
            there = [text.get_text() for text in left.texts if place(text.get_position()) == (x, y)]
            lead = next(iter(cell.leads.values())).over.difference.times(100)
            assert there[0] == study.label(cell.leader)
            assert there[1] == f"{lead.mean:+.1f}"
            assert float(there[2].strip("[]").split(",")[0]) == pytest.approx(lead.low, abs=0.051)


def test_what_is_not_resolved_is_hatched(study, cells):
    left, right = regime_map.draw(study).get_axes()
    of_place, of_baseline = (
        {place(box.get_xy()): bool(box.get_hatch()) for box in boxes(axes)}
        for axes in (left, right)
    )
    for x, rows in enumerate(SMALL["rows"]):
        for y, segment in enumerate(SMALL["tasks_per_segment"]):
            cell = cells[f"digits-{rows}-{segment}"]
            assert of_place[x, y] != cell.resolved
            assert of_baseline[x, y] != cell.leads["vcl"].resolved
    assert set(of_place.values()) == {True, False}


def test_the_caption_counts_what_is_resolved(study, cells):
    number = sum(cell.resolved for cell in cells.values())
    caption = regime_map.caption(study)
    assert f"resolved in {number} of 4 cells" in caption
    leaders = [cell.leader for cell in cells.values()]
    most = max(map(leaders.count, leaders))
    best = [name for name in study.learners if leaders.count(name) == most]
    names = " and ".join(f'"{study.label(name)}"' for name in best)
    assert len(best) == 2 and caption.startswith(f"{names} each lead in {most} of 4 cells; ")
    assert regime_map.draw(study).get_suptitle() == caption.partition(". Colour")[0]
    assert "4 streams: 10 of 10 runs per learner" in caption


def test_of_one_seed_nothing_is_resolved():
    study = regime_stores.results({"rows": [25, 400]}, seeds=1)
    left, _ = regime_map.draw(study).get_axes()
    assert all(box.get_hatch() for box in boxes(left))
    assert "resolved in 0 of 2 cells" in regime_map.caption(study)
    table = regime_table.tabulate(study)
    assert table["lead_p"].isna().all() and table["score"].notna().all()


def test_where_the_baseline_leads_the_map_says_so():
    study = regime_stores.results({"rows": [25]}, ("vcl", "lp", "independent"))
    _, right = regime_map.draw(study).get_axes()
    assert texts(right) == ["VCL leads"]


def test_failed_runs_leave_a_cell_empty_or_a_method_out():
    lost = [("digits-25", name) for name in ("vcl", "lp")] + [("digits-400", "lp")]
    study = regime_stores.results({"rows": [25, 400]}, ("vcl", "lp"), failed=lost)
    left, right = regime_map.draw(study).get_axes()
    assert texts(left) == ["no score", "VCL"] and texts(right) == ["no score", "VCL leads"]
    assert "0 of 10 runs" in regime_map.caption(study)
    assert regime_table.tabulate(study)["method"].tolist() == ["vcl"]


def test_lines_have_a_gap_where_runs_failed():
    lost = [("digits-25", name) for name in ("vcl", "vgs", "independent")]
    study = regime_stores.results({"rows": [25, 400]}, failed=lost)
    _, below = regime_pairs.draw(study).get_axes()
    assert np.isnan(below.containers[0].lines[0].get_ydata()).tolist() == [True, False]
    recall, _ = regime_detection.draw(study).get_axes()
    assert np.isnan(recall.containers[1].lines[0].get_ydata()).tolist() == [True, False]


def test_where_less_is_better_the_least_leads():
    one, other = np.array([1.0, 1.2, 1.1]), np.array([2.0, 2.1, 2.3])
    assert ranking.better("nll", one, other).difference.mean == pytest.approx(1.0333, abs=1e-3)
    assert ranking.advantage("nll", one, other).mean == pytest.approx(1.0333, abs=1e-3)
    assert ranking.better("accuracy", one / 3, other / 3).difference.mean < 0


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
        f"VCL is significantly better than {study.label('independent')} on {better or 'none'} of 4"
        f" streams, worse on {worse or 'none'}"
    )
    assert first.startswith("Of 2 methods, ") and " significantly better than VCL on " in first


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
def test_styles_tell_the_third_axis_apart():
    study = regime_stores.results(
        {"rows": [25, 50], "strength": [0.5, 1], "tasks_per_segment": [3, 6]}
    )
    figure = regime_pairs.draw(study)
    styles = {line.get_linestyle() for line in figure.legends[0].get_lines()}
    assert {"-", "--"} <= styles
    assert len(regime_map.draw(study).get_axes()) == 4


def test_the_table_has_the_numbers_of_the_map(study, cells):
    table = regime_table.tabulate(study)
    assert len(table) == 4 * len(study.learners)
    assert list(table.columns[:3]) == ["rows", "tasks_per_segment", "method"]
    for stream, cell in cells.items():
        values = study.cells[stream]
        rows = table[(table[list(values)] == list(values.values())).all(axis=1)]
        assert rows["method"].tolist() == list(cell.scores)
        assert rows["place"].tolist() == list(range(1, len(rows) + 1))
        last = rows.iloc[-1]
        expected = statistics.paired_difference(
            cell.scores[cell.leader], cell.scores[last["method"]], (0.0, 1.0)
        )
        assert last["lead"] == pytest.approx(expected.mean, abs=1e-6)
        assert last["lead_low"] == pytest.approx(expected.low, abs=1e-6)
        assert last["lead_p"] == pytest.approx(cell.leads[last["method"]].p, abs=1e-6)
        own = rows[rows["method"] == "vcl"].iloc[0]
        assert np.isnan(own["minus_vcl"]) and np.isnan(own["shift_recall"])


def test_the_table_to_read_has_numbers_with_their_intervals(study):
    read = regime_table.shown(regime_table.tabulate(study))
    assert not [name for name in read if name.endswith(("_low", "_high"))]
    assert read["score"].str.match(r"0\.\d{3} \[0\.\d{3}, 0\.\d{3}\]$").all()
    assert read["lead"].iloc[0] == ""
    assert "reference prior) of a difference below 1 point" in regime_table.caption(study)


@pytest.mark.parametrize("module", [regime_map, regime_pairs, regime_detection, regime_table])
def test_a_study_without_axes_is_refused(module):
    study = dataclasses.replace(stores.image_study(), reference="lp")
    make = getattr(module, "draw", None) or module.tabulate
    with pytest.raises(UserError, match=r"needs `axes`, which make a grid .* or take regime-"):
        make(study)


@pytest.mark.parametrize("module", [regime_map, regime_pairs])
def test_a_study_without_a_baseline_is_refused(module, study):
    without = dataclasses.replace(study, baseline=None)
    with pytest.raises(UserError, match="one of its methods as `baseline`"):
        module.draw(without)


def test_an_error_about_leads_names_the_artefact(study):
    with pytest.raises(UserError, match="regime-table needs a metric of which more or less"):
        cube = study.cube.isel(metric=[]).assign_coords(metric=[])
        scores = study.scores | {"scores": cube}
        study_ranking.leading_metric(dataclasses.replace(study, scores=scores), "regime-table")


@pytest.mark.long
def test_a_long_name_has_two_lines_and_the_markers_are_of_all_who_may_lead(study, cells):
    long = study.labels | dict.fromkeys(study.learners, "A method with a very long name indeed")
    left, _ = regime_map.draw(dataclasses.replace(study, labels=long)).get_axes()
    names = [text for text in texts(left) if text.startswith("A method")]
    assert all(" ".join(name.split("\n")) == long["vcl"] for name in names)
    many = regime_stores.results({"rows": [25, 50, 100, 200, 400]}, seeds=2)
    narrow, _ = regime_map.draw(dataclasses.replace(many, labels=long)).get_axes()
    assert all("\n" in text for text in texts(narrow) if text.startswith("A method"))
    assert len(left.get_lines()) == sum(1 + len(cell.tied) for cell in cells.values())


def test_points_seem_to_lie_at_their_level_and_equal_colours_have_dashes(study):
    assert _regime_lines._shifts(1, 4.5).tolist() == [0.0]
    assert np.ptp(_regime_lines._shifts(9, 4.5)) == pytest.approx(0.56 / 4.5)
    assert np.ptp(_regime_lines._shifts(9, 0.5)) == pytest.approx(_regime_lines.SPREAD)
    alike = dataclasses.replace(study, method_styles=dict.fromkeys(study.learners, ("red", "o")))
    names = study.learners[:2]
    assert [*_regime_lines._dashes(alike, names, [()]).values()] == ["-", "--"]
    assert [*_regime_lines._dashes(alike, names, [("a",), ("b",)]).values()] == ["-", "--"] * 2


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
        for name in study.learners
    }

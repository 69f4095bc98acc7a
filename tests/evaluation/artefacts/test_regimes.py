"""The map of regimes and its table, on synthetic scores."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from shiftbench.core.errors import UserError
from shiftbench.evaluation.artefacts import (
    _regimes,
    regime_detection,
    regime_map,
    regime_pairs,
    regime_table,
)
from shiftbench.evaluation.scoring import comparison, ranking, statistics, study_ranking
from tests.evaluation.artefacts import regime_stores
from tests.evaluation.artefacts.regime_panels import SMALL, texts
from tests.evaluation.scoring import stores


@pytest.fixture(scope="module")
def study():
    return regime_stores.results(SMALL)


@pytest.fixture(scope="module")
def cells(study):
    return _regimes.cells(study, "accuracy")


def place(at) -> tuple[int, int]:
    """Return the cell, column and row of a point."""
    return int(at[0]), int(at[1])


def boxes(axes) -> list[Rectangle]:
    return [patch for patch in axes.patches if isinstance(patch, Rectangle)]


def test_a_cell_has_its_leader_and_who_shares_its_lead(study, cells):
    for stream, cell in cells.items():
        scores = {name: study.score(stream, name, "accuracy") for name in study.methods}
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
    leaders = [cell.leader for cell in cells.values()]
    most = max(map(leaders.count, leaders))
    best = [name for name in study.methods if leaders.count(name) == most]
    names = " and ".join(f'"{study.label(name)}"' for name in best)
    everywhere = sum(_regimes.over_map(list(cells.values())) < 0.05)
    some = f"In {number} of 4 cells ({everywhere} after correction over the cells), one method is"
    start = some if number else "In none of 4 cells is one method"
    assert caption.startswith(f"{start} significantly better than all others; ")
    assert len(best) == 2 and f"; {names} each lead in {most}. Colour" in caption
    assert regime_map.draw(study).get_suptitle() == caption.partition(". Colour")[0]
    assert "4 streams: 10 of 10 runs per method" in caption


def test_of_one_seed_nothing_is_resolved():
    study = regime_stores.results({"rows": [25, 400]}, seeds=1)
    left, _ = regime_map.draw(study).get_axes()
    assert all(box.get_hatch() for box in boxes(left))
    caption = regime_map.caption(study)
    assert "significant" not in caption and "2 cells; one seed, so no test. Colour" in caption
    assert "Hatched: the lead is not tested" in caption
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


def test_where_less_is_better_the_least_leads():
    one, other = np.array([1.0, 1.2, 1.1]), np.array([2.0, 2.1, 2.3])
    assert ranking.better("nll", one, other).difference.mean == pytest.approx(1.0333, abs=1e-3)
    assert ranking.advantage("nll", one, other).mean == pytest.approx(1.0333, abs=1e-3)
    assert ranking.better("accuracy", one / 3, other / 3).difference.mean < 0


def test_the_table_has_the_numbers_of_the_map(study, cells):
    table = regime_table.tabulate(study)
    assert len(table) == 4 * len(study.methods)
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
    long = study.labels | dict.fromkeys(study.methods, "A method with a very long name indeed")
    left, _ = regime_map.draw(dataclasses.replace(study, labels=long)).get_axes()
    names = [text for text in texts(left) if text.startswith("A method")]
    assert names and all(" ".join(name.split("\n")) == long["vcl"] for name in names)
    many = regime_stores.results({"rows": [25, 50, 100, 200, 400]}, seeds=2)
    narrow, _ = regime_map.draw(dataclasses.replace(many, labels=long)).get_axes()
    wrapped = [text for text in texts(narrow) if text.startswith("A method")]
    assert wrapped and all("\n" in text for text in wrapped)
    assert len(left.get_lines()) == sum(1 + len(cell.tied) for cell in cells.values())

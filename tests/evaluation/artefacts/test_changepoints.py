"""The figure and table of many series beside published numbers, from runs by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.data.series import _nile, series_file
from shiftbench.evaluation.artefacts import _change_lines, _series, changepoint_table, changepoints
from shiftbench.evaluation.scoring import summarise
from shiftbench.evaluation.scoring.results import StudyResults
from tests.evaluation.scoring import stores

METRICS = ["cover", "f1"]
NAMES = ("tcpd-nile", "tcpd-uk-coal-employ")
FOUND = {"as-ocp": [28], "late": [28, 60], "none": []}


def stream(name: str, folder: Path):
    """Return the store of a data set, made from a file with the flow of the Nile."""
    flow = [float(value) for value in _nile.FLOW]
    years = [str(_nile.FIRST_YEAR + number) for number in range(len(flow))]
    data = {"time": {"raw": years}, "series": [{"label": "flow", "raw": flow}]}
    (folder / series_file._tcpd.file_name(name)).write_text(json.dumps(data))
    settings = {"dataset": name, "regressors": "constant", "scaling": "z-score"}
    spec = {"stream": name, "family": "series-file", "settings": settings}
    store = series_file.build(series_file.Settings(**settings), folder)
    return store.assign_attrs(spec=json.dumps(spec))


def run(store, starts, name: str):
    """Return a run with one slot, certain that segments start at task 0 and at these tasks."""
    task = np.arange(store.sizes["task"])
    first = np.maximum.accumulate(np.where(np.isin(task, starts), task, 0))
    infos = {"run_length": task - first}
    infos |= dict.fromkeys(("model", "log_weight", "map_log_joint"), np.zeros(len(task)))
    infos = {key: values[None, :, None].astype(float) for key, values in infos.items()}
    score = np.zeros((1, 1, len(task)))
    return stores.run_store(score, ["log_predictive"], store, name, [["x", {}]], infos)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Return a grid of two series, one with published numbers."""
    folder = tmp_path_factory.mktemp("raw")
    streams = {name: stream(name, folder) for name in NAMES}
    runs = [run(streams[name], starts, one) for name in NAMES for one, starts in FOUND.items()]
    learners = list(FOUND)
    spec = {"study": "s", "metrics": METRICS, "learners": learners, "streams": list(NAMES)}
    spec |= {"methods": {"bocpd": "as-ocp"}, "reference": None}
    scores, summary = summarise.summarise(spec, streams, runs)
    cells = {name: {"dataset": name} for name in NAMES}
    return StudyResults("s", "S", "", "", stores.by_path(scores), summary, streams, cells=cells)


def test_the_found_changes_stand_beside_those_that_people_marked(study, monkeypatch):
    monkeypatch.setattr(changepoints, "FEW", 1)
    nile, coal, *_ = changepoints.draw(study).get_axes()
    assert [panel.get_title(loc="left") for panel in (nile, coal)] == ["nile", "uk-coal-employ"]
    ticks = [line for line in nile.get_lines() if line.get_marker() == "|"]
    assert [line.get_label() for line in ticks] == list(FOUND)
    years = [[_nile.FIRST_YEAR + place for place in starts] for starts in FOUND.values()]
    assert [list(line.get_xdata()) for line in ticks] == years
    heights = [line.get_ydata()[0] for line in ticks if len(line.get_ydata())]
    assert heights == sorted(heights, reverse=True) and heights[0] < 1
    marked = [line for line in nile.get_lines() if line.get_alpha() == _change_lines.FAINT]
    assert sorted(line.get_xdata()[0] for line in marked) == [1899, 1899, 1899]
    assert "people marked" in changepoints.caption(study)
    said = "Changes inferred in 2 series: 4 with late, 2 with as-ocp and 0 with none"
    assert changepoints.draw(study).get_suptitle() == said
    assert changepoints.caption(study).startswith(f"{said}. Grey lines")


@pytest.mark.parametrize("few", [1, 3])
def test_values_that_may_not_be_passed_on_are_not_drawn(study, monkeypatch, few):
    monkeypatch.setattr(changepoints, "FEW", few)
    shown, hidden = study.streams.values()
    spec = json.loads(hidden.attrs["spec"])
    spec["settings"]["dataset"] = "tcpd-apple"
    apple = hidden.assign_attrs(spec=json.dumps(spec))
    other = replace(study, streams=dict(zip(NAMES, (shown, apple), strict=True)))
    panels = changepoints.draw(other).get_axes()
    lines = [len(line.get_xdata()) for panel in panels for line in panel.get_lines()]
    whole = tuple(_series.axis(apple)[[0, -1]])
    assert whole in [panel.get_xlim() for panel in panels]
    assert lines.count(len(_nile.FLOW)) == 1
    assert "Without the values of" in changepoints.caption(other)
    assert "Without the values of" not in changepoints.caption(study)


def test_few_series_have_axes_in_their_units_and_a_line_of_changes_for_each_learner(study):
    nile, changes, *_ = changepoints.draw(study).get_axes()
    np.testing.assert_allclose(nile.get_lines()[0].get_ydata(), _nile.FLOW)
    assert nile.get_ylabel() == "flow" and changes.get_xlabel() == "time"
    words = "nile: as-ocp infers 1 change; late infers 2 changes; none infers 0 changes"
    assert nile.get_title(loc="left") == words and words in changepoints.caption(study)
    assert [tick.get_text() for tick in changes.get_yticklabels()] == [
        f"changes by {one}" for one in FOUND
    ]
    marks = [line for line in changes.get_lines() if line.get_marker() == "|"]
    years = [[_nile.FIRST_YEAR + place for place in starts] for starts in FOUND.values()]
    assert [list(line.get_xdata()) for line in marks] == years
    assert [set(line.get_ydata()) for line in marks] == [{0}, {1}, set()]


def test_the_table_has_our_scores_those_of_no_change_and_the_printed_ones(study):
    table = changepoint_table.tabulate(study)
    nile, coal, mean = (row for _, row in table.iterrows())
    assert nile["as-ocp cover"] == pytest.approx(0.888) and nile["as-ocp F1"] == 1
    assert nile["none cover"] == nile["never cover"] == pytest.approx(0.75808)
    assert nile["never F1"] == pytest.approx(0.8235294117647058)
    assert nile["late F1"] < 1
    assert np.isnan(coal["[RBOCPDMS] F1"]) and coal["as-ocp F1"] > 0
    assert mean["series"] == "mean of 1" and mean["as-ocp cover"] == nile["as-ocp cover"]
    shown = changepoint_table.shown(table)
    assert shown["[BOCPD (R ocp)]"].tolist() == ["0.888 / 1.000", "- / -", "0.888 / 1.000"]
    assert shown["[RBOCPDMS]"][0] == "0.753 / 0.452"
    assert "default settings" in changepoint_table.caption(study)


def test_with_configurations_the_best_of_each_metric_stands_beside_the_printed_oracle(study):
    score = study.cube["score"].values
    best = score.copy()
    best[0, 0] = 0.9
    seeds = np.concatenate([score, best], axis=3)  # stream, learner, metric, seed
    cube = study.cube.isel(seed=[0, 0]).assign_coords(seed=[0, 1])
    cube["score"] = (cube["score"].dims, seeds)
    scores = {"scores": cube} | runs_of(study)
    oracle = replace(study, scores=scores, configurations=({"a": 1}, {"a": 2}))
    nile = changepoint_table.tabulate(oracle).iloc[0]
    assert nile["as-ocp cover"] == 0.9 and nile["as-ocp F1"] == 1
    assert nile["[RBOCPDMS] cover"] == 0.876 and nile["[RBOCPDMS] F1"] == 0.8
    assert "the best of 2 settings" in changepoint_table.caption(oracle)


def runs_of(study):
    """Return the run stores of a study, by their path."""
    return {
        f"runs/{stream}/{learner}": study.scores[f"runs/{stream}/{learner}"]
        for stream in study.streams
        for learner in study.methods
    }


def test_a_learner_that_failed_is_not_drawn_and_one_is_needed(study):
    failed = {"scores": study.cube} | {
        place: store.assign(status=("seed", ["failed"])) for place, store in runs_of(study).items()
    }
    with pytest.raises(UserError, match="changepoints needs a method that finds changes"):
        changepoints.draw(replace(study, scores=failed))


def test_a_learner_that_failed_on_the_values_drawn_is_left_out(study):
    """The only seed that succeeded saw another realisation."""
    place = f"runs/{NAMES[0]}/late"
    other = study.scores[place].assign(realisation=("seed", [1]))
    changed = replace(study, scores={"scores": study.cube} | runs_of(study) | {place: other})
    assert _change_lines.deciding(changed, "changepoints") == ["as-ocp", "none"]
    assert _change_lines.deciding(changed, "x", every=True) == list(FOUND)


@pytest.mark.parametrize(
    ("scaling", "top", "label"),
    [("none", 40, "value (EUR)"), ("z-score", 2**0.5, "value (z-score)")],
)
def test_several_series_are_drawn_on_one_scale(tmp_path, scaling, top, label):
    (tmp_path / "a.csv").write_text("a,b\n1,10\n1,10\n4,40\n")
    settings = series_file.Settings(path="a.csv", scaling=scaling, unit="EUR")
    value, words = _series.plotted(series_file.build(settings, tmp_path / "a.csv"))
    assert value.max() == pytest.approx(top) and words == label


@pytest.mark.parametrize(
    ("time", "label"),
    [("month\n2001-01\n2001-02\n2001-03\n", "month"), ("hour\n1.5\n2.5\n4\n", "hour")],
)
def test_the_axis_is_called_as_the_file_calls_it(tmp_path, time, label):
    rows = zip(time.split(), ["a", "1", "2", "3"], strict=True)
    (tmp_path / "a.csv").write_text("".join(f"{one},{other}\n" for one, other in rows))
    settings = series_file.Settings(path="a.csv", time=label, scaling="none")
    store = series_file.build(settings, tmp_path / "a.csv")
    assert _series.axis_label(store) == label
    assert len(_series.task_times(store)) == 3

"""The figure and table of segmentations on the Nile, from runs of the harness."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from shiftbench.core.errors import UserError
from shiftbench.data.series import series
from shiftbench.evaluation.artefacts import _change_lines, segmentation
from shiftbench.evaluation.running import build_run, run_store
from shiftbench.evaluation.running.cost import Meter
from shiftbench.evaluation.running.harness import advance, start
from shiftbench.evaluation.scoring import summarise
from shiftbench.evaluation.scoring.results import StudyResults
from tests.evaluation.scoring import stores

METRICS = ["squared_error", "n_changepoints", "run_length_zeros"]
RUN_LENGTH = ["run-length", {"hazard": 0.01, "keep": 30}]
LEARNERS = {
    "standard": [RUN_LENGTH, ["bayes-linear", {}]],
    "robust": [RUN_LENGTH, ["bayes-linear", {"beta_rlm": 0.15}]],
    "no-run-lengths": [["bayes-linear", {}]],
}


def driven(stream, variant):
    """Return a run store of the harness."""
    run = build_run.run(
        {
            "study": "study",
            "stream": {"name": "nile", "family": "series"},
            "method": variant,
            "learner": LEARNERS[variant],
            "model": None,
            "seeds": [0, 0],
            "reveals": [],
            "drift": "before-prediction",
            "metrics": METRICS[:1],
            "code": "code",
        },
        stream,
    )
    position, meter = start(run), Meter()
    while position.next_task < run.problem.n_tasks:
        position = advance(run, position, meter)
    return run_store.dataset(run, position)


@pytest.fixture(scope="module")
def nile():
    fields = {"dataset": "nile", "regressors": "constant", "scaling": "z-score", "realisations": 1}
    spec = {"stream": "nile", "family": "series", "settings": fields}
    store = series.build(series.Settings(**fields), Path())
    return store.assign_attrs(spec=json.dumps(spec))


@pytest.fixture(scope="module")
def runs(nile):
    return {name: driven(nile, name) for name in LEARNERS}


@pytest.fixture(scope="module")
def study(nile, runs):
    return stores.study("nile", nile, METRICS, list(runs.values()))


def test_each_learner_with_run_lengths_has_a_panel_with_its_numbers(study, runs):
    top, *panels = segmentation.draw(study).get_axes()
    titles = [panel.get_title(loc="left") for panel in panels]
    assert [title.split(":")[0].split()[-1] for title in titles] == ["standard", "robust"]
    for panel, name in zip(panels, ("standard", "robust"), strict=True):
        run = runs[name].isel(seed=0)
        best = run["info_log_weight"].argmax("hypothesis")
        length = run["info_run_length"].isel(hypothesis=best).values
        (drawn,) = (line for line in panel.get_lines() if line.get_marker() == "None")
        np.testing.assert_array_equal(drawn.get_ydata(), length)
        words = f"1 changepoint, most probable run length 0 at {(length == 0).sum()} step"
        assert words in panel.get_title(loc="left")
        (mark,) = (line for line in panel.get_lines() if line.get_marker() == "v")
        assert mark.get_xdata()[0] == 1899
    assert top.get_lines()[1].get_xdata()[0] == 1899  # the true changes, dotted
    assert panels[-1].get_xlabel() == "year" and panels[-1].get_xlim() == (1871, 1971)


def test_the_title_counts_the_changes(study, nile):
    (block,) = segmentation.draw(study).subfigs
    said = "nile: standard and robust infer 1 change; there is 1 accepted one"
    assert block.get_suptitle() == said
    assert segmentation.caption(study).startswith(f"{said}. ")
    without = nile.assign(shift=np.logical_and(nile["shift"], False))
    changed = dataclasses.replace(study, streams={"nile": without})
    assert "there is" not in segmentation.caption(changed)


def test_of_many_numbers_of_changes_the_title_has_the_ends(study, monkeypatch):
    numbers = {"standard": 4, "robust": 16, "a": 9, "b": 46, "c": 16}
    changes = {name: [np.arange(number)] for name, number in numbers.items()}
    monkeypatch.setattr(_change_lines, "found", lambda study, stream, name, every: changes[name])
    said = _change_lines.counts(study, "nile", list(numbers))
    assert said == "nile: 5 methods infer from 4 (standard) to 46 (b) changes"
    assert _change_lines.counts(study, "nile", ["robust", "c", "a"]).startswith(
        "nile: robust and c"
    )


def test_an_event_is_a_line_with_its_words(nile, runs):
    event = np.arange(100) == 50
    store = nile.assign(event=("task", event, {"long_name": "the dam opens"}))
    top = segmentation.draw(stores.study("nile", store, METRICS, list(runs.values()))).get_axes()[0]
    assert [line.get_xdata()[0] for line in top.get_lines()[1:]] == [1899, 1921]
    assert [text.get_text() for text in top.texts if "dam" in text.get_text()] == [" the dam opens"]


def test_the_posterior_of_several_models_is_stacked_to_100_percent(nile, runs):
    run = runs["standard"].copy(deep=True)
    shape = run["info_model"].shape
    run["info_model"][:] = np.arange(shape[-1]) % 2
    store = nile.assign_coords(model=("model", ["first", "second"]))
    panels = segmentation.draw(stores.study("nile", store, METRICS, [run])).get_axes()
    assert len(panels) == 3
    weight = np.exp(run["info_log_weight"].values[0])
    _, upper = panels[2].collections
    heights = upper.get_paths()[0].vertices[:, 1]
    assert heights.max() == pytest.approx(100) and weight[:, 1::2].sum(axis=1).max() > 0
    assert min(heights) == pytest.approx(100 * weight[:, ::2].sum(axis=1).min())


def vertical(panel, style):
    """Return the positions of a panel's vertical lines in this style."""
    lines = (line for line in panel.get_lines() if line.get_linestyle() == style)
    return [line.get_xdata()[0] for line in lines if np.ptp(line.get_ydata()) == 1]


def sure(stream, *starts, name="sure"):
    """Return a run with one slot, certain that segments start at task 0 and at these tasks."""
    task = np.arange(stream.sizes["task"])
    first = np.maximum.accumulate(np.where(np.isin(task, starts), task, 0))
    infos = {"run_length": task - first}
    infos |= dict.fromkeys(("model", "log_weight", "map_log_joint"), np.zeros(len(task)))
    infos = {key: values[None, :, None].astype(float) for key, values in infos.items()}
    score = np.zeros((1, 1, len(task)))
    return stores.run_store(score, METRICS[:1], stream, name, [["x", {}]], infos)


def seeds(stream, *starts, name):
    """Return a run with one seed for each of these lists of starts of segments."""
    runs = [sure(stream, *places, name=name) for places in starts]
    numbers = np.arange(len(runs))
    run = xr.concat(runs, "seed", data_vars="minimal").assign_coords(seed=numbers)
    run["realisation"] = ("seed", numbers % stream.sizes["realisation"])
    return run.assign_attrs(runs[0].attrs)


def marks(panel):
    return [line.get_xdata()[0] for line in panel.get_lines() if line.get_marker() == "v"]


def test_annotations_of_any_annotator_stand_in_place_of_the_shift(nile):
    annotation = np.zeros((3, 100), bool)
    annotation[0, [10, 40]] = annotation[2, [40, 70]] = True
    store = nile.assign(annotation=(("annotator", "task"), annotation))
    top, panel = segmentation.draw(
        stores.study("nile", store, METRICS, [sure(store, 28)])
    ).get_axes()
    assert vertical(top, ":") == [1881, 1911, 1941]
    assert vertical(top, "--") == [] and marks(panel) == [1899]


def test_a_stream_whose_first_value_is_no_task_has_its_marks_at_the_values(nile):
    fields = {"dataset": "nile", "regressors": "own-lag", "realisations": 1}
    store = series.build(series.Settings(**fields), Path()).assign_attrs(spec=nile.attrs["spec"])
    study = stores.study("nile", store, METRICS, [sure(store, 0, 27)])
    top, panel = segmentation.draw(study).get_axes()
    assert vertical(top, ":") == [1899] and marks(panel) == [1899]
    assert panel.get_lines()[0].get_xdata()[[0, -1]].tolist() == [1872, 1970]


def test_dates_are_drawn_as_dates(nile):
    days = np.datetime64("2002-08-17") + np.arange(100)
    store = nile.assign_coords(time=("time", np.datetime_as_string(days)))
    store = store.assign(event=("task", np.arange(100) == 50, {"long_name": "an event"}))
    top, panel = segmentation.draw(
        stores.study("nile", store, METRICS, [sure(store, 60)])
    ).get_axes()
    assert vertical(top, "--") == [days[50]] and marks(panel) == [days[60]]
    assert panel.get_xlabel() == "date"


@pytest.mark.parametrize(
    ("starts", "words"),
    [
        ((), "0 changepoints, most probable run length 0 at 1 step"),
        ((28,), "1 changepoint, most probable run length 0 at 2 steps"),
        ((7, 8, 50), "3 changepoints, most probable run length 0 at 4 steps"),
    ],
    ids=["none", "one", "three"],
)
def test_titles_count_changepoints_and_zeros(nile, starts, words):
    panel = segmentation.draw(
        stores.study("nile", nile, METRICS, [sure(nile, *starts)])
    ).get_axes()[1]
    assert panel.get_title(loc="left").endswith(f"sure: {words}")
    assert marks(panel) == [1871 + start for start in starts]


def segments_backwards(run):
    """Return the changepoints of a store by backtracking through its best slots."""
    store, starts, task = run.isel(seed=0), [], run.sizes["task"] - 1
    while task >= 0:
        at = store.isel(task=task)
        slot = max(range(at.sizes["hypothesis"]), key=lambda k: at["info_map_log_joint"].values[k])
        task -= int(at["info_run_length"].values[slot])
        starts.insert(0, task)
        task -= 1
    return starts[1:]


def test_the_counts_of_a_series_with_several_changes_are_those_of_its_store(nile):
    value = nile["value"].values.copy()
    value[:, 60:80] += 8
    value[:, 90:] -= 5
    store = nile.assign(value=(nile["value"].dims, value, nile["value"].attrs))
    run = driven(store, "standard")
    changes = segments_backwards(run)
    assert len(changes) >= 3 and {60, 80, 90} <= set(changes)
    posterior = np.zeros((100, 100))
    length, weight = run["info_run_length"].values[0], run["info_log_weight"].values[0]
    for t, k in np.ndindex(length.shape):
        posterior[t, int(length[t, k])] += np.exp(weight[t, k])
    zeros = int((posterior.argmax(axis=1) == 0).sum())
    panel = segmentation.draw(stores.study("nile", store, METRICS, [run])).get_axes()[1]
    assert f"standard: {len(changes)} changepoints" in panel.get_title(loc="left")
    assert f"run length 0 at {zeros} steps" in panel.get_title(loc="left")
    assert marks(panel) == [1871 + task for task in changes]


def heights(band, years):
    """Return the height of a stacked band in each year."""
    points = band.get_paths()[0].vertices
    at = [points[points[:, 0] == year, 1] for year in years]
    return np.array([np.ptp(ys) for ys in at])


def test_shares_of_the_models_are_their_weights_and_sum_to_100_at_each_step(nile, runs):
    run = runs["standard"].copy(deep=True)
    model = np.random.default_rng(0).integers(0, 3, run["info_model"].shape)
    run["info_model"][:] = model
    names = ["first", "second", "third"]
    store = nile.assign_coords(model=("model", names))
    panel = segmentation.draw(stores.study("nile", store, METRICS, [run])).get_axes()[2]
    weight, years = np.exp(run["info_log_weight"].values[0]), 1871 + np.arange(100)
    drawn = np.stack([heights(band, years) for band in panel.collections])
    expected = np.stack([np.where(model[0] == m, weight, 0).sum(axis=1) for m in range(3)])
    np.testing.assert_allclose(drawn, 100 * expected, atol=1e-7)
    np.testing.assert_allclose(drawn.sum(axis=0), 100)
    assert [text.get_text() for text in panel.get_legend().get_texts()] == names


def test_each_stream_has_its_block(nile):
    """The two streams of the study have different true shifts."""
    later = nile.assign(shift=(nile["shift"].dims, np.roll(nile["shift"].values, 5, axis=1)))
    spec = json.loads(nile.attrs["spec"]) | {"stream": "later"}
    streams = {"nile": nile, "later": later.assign_attrs(spec=json.dumps(spec))}
    made = {"study": "two", "metrics": METRICS, "learners": ["sure"], "streams": list(streams)}
    made |= {"methods": {}, "reference": None}
    own = [sure(streams["nile"], 28), sure(streams["later"], 33)]
    tree, table = summarise.summarise(made, streams, own)
    panels = segmentation.draw(
        StudyResults("two", "", "", "", stores.by_path(tree), table, streams)
    ).get_axes()
    assert [vertical(panel, ":") for panel in panels] == [[1899], [], [1904], []]
    assert [marks(panel) for panel in panels] == [[], [1899], [], [1904]]


def test_only_seeds_that_saw_the_series_drawn_are_drawn_on_it(nile):
    """Seed 0 of one method failed; its seed 1 saw another realisation, which has other changes."""
    two = nile.isel(realisation=[0, 0])
    runs = [seeds(two, [28], [60], name="whole"), seeds(two, [28], [60], name="lost")]
    runs[1]["status"][0] = "failed: x"
    panels = segmentation.draw(stores.study("nile", two, METRICS, runs)).get_axes()
    assert [marks(panel) for panel in panels] == [[], [1899]]
    later = seeds(two, [28], [60], [40], name="later")
    later["status"][0] = "failed: x"
    panels = segmentation.draw(stores.study("nile", two, METRICS, [later])).get_axes()
    assert [marks(panel) for panel in panels] == [[], [1911]], "seed 2 saw the first realisation"


def test_more_than_nine_methods_have_a_letter_each(nile):
    own = [sure(nile, 28, name=f"m{number}") for number in range(11)]
    panels = segmentation.draw(stores.study("nile", nile, METRICS, own)).get_axes()
    titles = [panel.get_title(loc="left") for panel in panels]
    letters = [title.split("{")[-1].split("}")[0] for title in titles]
    assert letters == list("abcdefghijkl")


def test_without_run_lengths_there_is_no_figure(nile, runs):
    study = stores.study("nile", nile, METRICS[:1], [runs["no-run-lengths"]])
    with pytest.raises(UserError, match="needs a learner inside run-length"):
        segmentation.draw(study)


def test_cells_of_a_long_series_show_their_largest_probability(monkeypatch):
    monkeypatch.setattr(segmentation, "COLUMNS", 7)
    monkeypatch.setattr(segmentation, "ROWS", 5)
    rng = np.random.default_rng(0)
    length, weight = rng.integers(0, 23, (40, 4)), rng.dirichlet(np.ones(4), 40)
    picture, longest = segmentation._picture(length, weight)
    assert picture.shape == (5, 7) and longest == length.max()
    expected = np.zeros((5, 7))
    for t in range(40):
        for r, w in zip(length[t], weight[t], strict=True):
            if w > segmentation.FAINTEST:
                cell = int(r * 5 / (longest + 1)), int(t * 7 / 40)
                expected[cell] = max(expected[cell], w)
    np.testing.assert_allclose(picture, expected)
    edges = segmentation._edges(np.arange(40.0), 40.0, 7)
    columns = np.searchsorted(edges, np.arange(40), side="right") - 1
    np.testing.assert_array_equal(columns, np.arange(40) * 7 // 40)


@pytest.mark.parametrize(("tasks", "columns"), [(1500, 900), (1801, 900), (900, 900), (40, 40)])
def test_a_picture_has_no_more_cells_than_its_limit_and_none_of_no_width(tasks, columns):
    length = np.arange(tasks)[:, None] % 300
    picture, longest = segmentation._picture(length, np.ones((tasks, 1)))
    assert picture.shape == (min(segmentation.ROWS, tasks), columns)
    assert longest == min(299, tasks - 1)
    edges = segmentation._edges(np.arange(tasks) + 1.0, tasks + 1.0, columns)
    assert len(edges) == columns + 1 and edges[0] == 1 and edges[-1] == tasks + 1
    assert (np.diff(edges) > 0).all()
    # A column shows a task's cell if and only if the task is between the column's edges.
    holder = np.searchsorted(edges, np.arange(tasks) + 1.0, side="right") - 1
    row = length[:, 0] * len(picture) // (longest + 1)
    expected = np.zeros_like(picture)
    expected[row, holder] = 1
    np.testing.assert_array_equal(picture, expected)


def test_what_is_too_faint_is_white_and_makes_no_axis_longer():
    length, weight = np.array([[0, 50], [1, 90]]), np.array([[1.0, 5e-5], [0.9, 2e-5]])
    picture, longest = segmentation._picture(length, weight)
    assert longest == 1
    np.testing.assert_array_equal(picture, [[1, 0], [0, 0.9]])


def test_a_learner_whose_runs_all_failed_is_left_out_of_the_figure(nile, runs):
    failed = runs["robust"].assign(status=("seed", np.array(["failed: LearnerError"])))
    found = stores.study("nile", nile, METRICS, [runs["standard"], failed])
    assert len(segmentation.draw(found).get_axes()) == 2
    assert "1 failed: LearnerError" in segmentation.caption(found)


def test_the_caption_tells_only_of_marks_that_are_drawn(study, nile):
    told = segmentation.caption(study)
    assert (
        "dotted: accepted changes" in told
        and "dashed" not in told
        and "all of them thin" not in told
    )
    without = nile.assign(shift=np.logical_and(nile["shift"], False))
    changed = dataclasses.replace(study, streams={"nile": without})
    assert "dotted" not in segmentation.caption(changed)

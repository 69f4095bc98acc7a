"""The figure of a score over time: its lines, for runs of a beam and failed runs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.evaluation import highlights
from shiftbench.evaluation.artefacts import error_over_time
from shiftbench.evaluation.scoring import segmentation
from tests.evaluation.artefacts import paired
from tests.evaluation.scoring import stores


def test_windows_are_means_of_equal_lengths_and_the_last_may_be_shorter(monkeypatch) -> None:
    monkeypatch.setattr(error_over_time, "WINDOWS", 3)
    middles, means = error_over_time.windows(np.array([[1.0, 3, 5, 7, 9], [0, 0, 0, 0, 1]]))
    assert middles.tolist() == [1.5, 3.5, 5]
    assert means.tolist() == [[2, 6, 9], [0, 0, 1]]


def test_lines_are_scores_and_shares_of_shifts() -> None:
    study = stores.toy_study()
    so_far, in_windows, shifts = error_over_time.draw(study).get_axes()
    assert so_far.get_ylabel().startswith("log predictive")  # jump_f1 has no score per task
    for place, learner in enumerate(study.methods):
        values = study.by_task("toy-step", learner, "log_predictive").mean(axis=0)
        assert so_far.get_lines()[place].get_ydata()[-1] == pytest.approx(values.mean())
        assert in_windows.get_lines()[place].get_ydata() == pytest.approx(values)
        found = segmentation.inferred(study.run("toy-step", learner)).mean(axis=0)
        assert shifts.get_lines()[place].get_ydata() == pytest.approx(100 * found)
    assert "windows of 1 task." in error_over_time.caption(study)
    assert "dotted" in error_over_time.caption(study)


def test_the_axis_has_the_dates_of_a_file() -> None:
    study = stores.toy_study()
    days = np.datetime64("2024-01-01") + np.arange(study.streams["toy-step"].sizes["task"])
    time = ("task", np.datetime_as_string(days), {"column": "day"})
    stream = study.streams["toy-step"].assign_coords(time=time)
    panels = error_over_time.draw(dataclasses.replace(study, streams={"toy-step": stream}))
    so_far, in_windows, shifts = panels.get_axes()
    assert in_windows.get_lines()[0].get_xdata().tolist() == days.tolist()
    assert so_far.get_lines()[0].get_xdata()[-1] == days[-1]
    assert shifts.get_xlabel() == "day"


def test_who_decides_nothing_has_no_line_and_who_failed_an_empty_one() -> None:
    stream = stores.online_stream(rows=40)
    runs = [stores.online_run(stream, stores.sva)]
    runs[0]["status"][:] = "failed: for a test"
    study = stores.study("alone", stream, stores.ONLINE_METRICS[:2], runs)
    so_far, _ = error_over_time.draw(study).get_axes()
    assert np.isnan(so_far.get_lines()[0].get_ydata()).all()
    assert "dotted" not in error_over_time.caption(study)


def test_run_lengths_of_rows_have_no_line_where_tasks_have_several_rows(monkeypatch) -> None:
    """Whether a task begins a segment is unknown then; the errors are not."""
    study = stores.toy_study()

    def refused(_run) -> None:
        raise segmentation.RowsCounted("several rows a task")

    monkeypatch.setattr(segmentation, "inferred", refused)
    so_far, _ = error_over_time.draw(study).get_axes()
    assert len(so_far.get_lines()) >= len(study.methods)


def test_test_scores_do_as_well_and_metrics_of_whole_runs_do_not() -> None:
    study = stores.image_study()
    assert "Accuracy of each task on its test data" in error_over_time.caption(study)
    runs_alone = stores.toy_study()
    cube = runs_alone.cube.sel(metric=["jump_f1"])
    runs_alone = dataclasses.replace(runs_alone, scores={"scores": cube})
    with pytest.raises(UserError, match="error-over-time needs a metric of single tasks"):
        error_over_time.draw(runs_alone)


NAMES = {"a": 0.95, "b": 0.9, "c": 0.85, "d": 0.8, "e": 0.75, "f": 0.7, "failed": 0.05}


def wide_study():
    stream = stores.image_stream()
    runs = [stores.image_run(stream, name, score, n=4) for name, score in NAMES.items()]
    return stores.study("images", stream, stores.IMAGE_METRICS, runs)


def test_the_five_best_are_in_colour_and_named_at_their_ends_and_the_others_grey() -> None:
    (block,) = error_over_time.draw(wide_study()).subfigs
    panel, _ = block.get_axes()
    colours = [line.get_color() for line in panel.get_lines() if len(line.get_xdata()) == 9]
    assert [colour == highlights.GREY for colour in colours] == [False] * 5 + [True] * 2
    assert [text.get_text() for text in panel.texts] == ["e", "d", "c", "b", "a"]
    assert not block.legends
    assert panel.get_title(loc="left").endswith("tasks so far; beyond the axis: failed")


def test_the_last_method_which_the_title_names_is_in_colour_where_it_fits() -> None:
    stream, names = stores.image_stream(), dict(NAMES)
    del names["failed"]
    runs = [stores.image_run(stream, name, score, n=4) for name, score in names.items()]
    study = stores.study("images", stream, stores.IMAGE_METRICS, runs)
    (block,) = error_over_time.draw(study).subfigs
    panel, _ = block.get_axes()
    assert " the last is f, " in block.get_suptitle()
    assert [text.get_text() for text in panel.texts] == ["f", "d", "c", "b", "a"]


def test_a_unit_that_the_metric_names_stands_once(monkeypatch) -> None:
    monkeypatch.setattr(error_over_time.units, "unit", lambda *_: "density")
    monkeypatch.setattr(error_over_time.metric_words, "words", lambda _: "log density")
    panels = error_over_time.draw(stores.toy_study()).get_axes()
    assert panels[0].get_ylabel() == "log density"


def test_the_title_says_who_is_best_and_who_is_last() -> None:
    study = wide_study()
    mean = {name: study.by_task("images", name, "accuracy").mean() for name in NAMES}
    said = (
        "images: over 9 tasks, a has the largest accuracy of 7 methods,"
        f" {100 * mean['a']:.3g} %; 5 methods are not significantly worse; the last is failed,"
        f" {100 * mean['failed']:.3g} %"
    )
    # All but `failed` have the same noise, so that their differences have no spread.
    values = [study.by_task("images", name, "accuracy").mean(axis=1) for name in NAMES]
    assert paired.worse(values[0], values[1:]).tolist() == [False] * 5 + [True]
    assert error_over_time.draw(study).subfigs[0].get_suptitle() == said
    assert error_over_time.caption(study).startswith(said)
    bounded = error_over_time.message(dataclasses.replace(study, bounds=["a", "failed"]), "images")
    assert bounded == (
        f"images: over 9 tasks, b has the largest accuracy of 5 methods, {100 * mean['b']:.3g} %;"
        f" no other is significantly worse; the last is f, {100 * mean['f']:.3g} %"
    )

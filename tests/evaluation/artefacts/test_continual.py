"""Figures of continual learning, drawn from synthetic accuracy matrices."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from matplotlib.figure import Figure

from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts import (
    _continual,
    accuracy_matrix,
    continual_table,
    per_task_accuracy,
    tasks_learnt,
)
from tests.evaluation.artefacts.continual_panels import FIGURES, LEARNERS, at_end, interval, panel
from tests.evaluation.scoring import continual_stores


@pytest.fixture(scope="module")
def study():
    return continual_stores.study(LEARNERS)


def so_far(learner):
    a = 100 * continual_stores.matrix(learner)
    return np.array([a[:, t, : t + 1].mean() for t in range(10)])


def test_tasks_learnt_draws_means_of_the_rows_of_a(study):
    axes = panel(tasks_learnt.draw(study), "ewc")
    (own,) = [one for one in axes.get_lines() if one.get_zorder() == 3]
    assert own.get_ydata() == pytest.approx(so_far("ewc"))
    assert [text.get_text() for text in axes.texts] == [f"{so_far('ewc')[-1]:.1f}"]


def test_the_band_is_the_interval_over_seeds():
    study = continual_stores.study(LEARNERS, seeds=5)
    axes = panel(tasks_learnt.draw(study), "vogn")
    edges = axes.collections[0].get_paths()[0].vertices
    last = 100 * continual_stores.matrix("vogn", seeds=5)[:, -1].mean(axis=1)
    assert "band: 95 % interval" in tasks_learnt.caption(study)
    reach = edges[edges[:, 0] == 10, 1]
    assert [reach.min(), reach.max()] == pytest.approx(interval(last))


@pytest.mark.parametrize("module", [tasks_learnt, per_task_accuracy])
def test_no_perfect_mean_lies_at_the_end_of_the_axis(module):
    perfect = np.minimum(continual_stores.matrix("vogn") + 1, 1)
    runs = [continual_stores.run(continual_stores.stream(), "vogn", perfect)]
    for axes in module.draw(continual_stores.study(["vogn"], runs=runs)).get_axes():
        if "by task" in axes.get_title(loc="left") or axes.get_title(loc="left") == "vogn":
            assert 100 < axes.get_ylim()[1] < 101


def test_no_band_is_cut():
    study = continual_stores.study(LEARNERS, seeds=5)
    axes = panel(tasks_learnt.draw(study), "finetune")
    low, high = axes.get_ylim()
    edges = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert low < edges.min() and edges.max() < high


@pytest.mark.parametrize("module", FIGURES)
def test_the_scale_is_linear_where_the_best_learner_is_poor(study, module):
    low = continual_stores.matrix("finetune") - 0.3
    runs = [continual_stores.run(continual_stores.stream(), "finetune", low.clip(0))]
    poor = continual_stores.study(("finetune", "independent"), runs=runs)
    assert _continual.is_linear(poor) and not _continual.is_linear(study)
    assert "logarithm of the error" in module.caption(study) or module is per_task_accuracy
    assert "logarithm of the error" not in module.caption(poor)
    scales = {axes.get_yscale() for axes in module.draw(poor).get_axes()}
    assert scales == {"linear"}
    assert _continual.scale_note(poor) == "linear"


def test_a_name_points_at_its_last_marker(study):
    _, axes = by_task(study)
    marks = {bars.lines[0].get_xydata()[-1][0] for bars in axes.containers}
    starts = {text.xy[0] for text in axes.texts if text.get_text() not in study.bounds}
    assert starts == marks and len(marks) == 3


def test_few_seeds_are_lines_and_no_band(study):
    axes = panel(tasks_learnt.draw(study), "vogn")
    assert not axes.collections
    colour = figure_style.method_style(study, "vogn")["color"]
    lines = [one for one in axes.get_lines() if one.get_color() == colour]
    ends = sorted(one.get_ydata()[-1] for one in lines if one.get_zorder() != 3)
    last = 100 * continual_stores.matrix("vogn")[:, -1].mean(axis=1)
    assert ends == pytest.approx(sorted(last))
    assert "thin lines: the seeds" in tasks_learnt.caption(study)
    assert "band" not in tasks_learnt.caption(study)


def test_no_seed_of_few_lies_outside_the_axis():
    seeds = continual_stores.matrix("ewc") - np.array([0, 0, 0.3])[:, None, None]
    runs = [continual_stores.run(continual_stores.stream(), "ewc", seeds)]
    axes = panel(tasks_learnt.draw(continual_stores.study(["ewc", "vogn"], runs=runs)), "ewc")
    assert axes.get_ylim()[0] < 100 * seeds[2, -1].mean() < 70


def test_a_long_label_leaves_room_for_the_number(study):
    long = dataclasses.replace(study, labels={"vogn": "VCL radial, full, wide"})
    figure = tasks_learnt.draw(long)
    figure.draw_without_rendering()
    axes = panel(figure, "VCL radial, full, wide")
    title, number = axes._left_title.get_window_extent(), axes.texts[0].get_window_extent()
    assert title.x1 < number.x0


def test_ticks_of_a_low_colour_bar_do_not_collide():
    assert len(_continual.ticks(0.0, 99.9, 0.15)) < len(_continual.ticks(0.0, 99.9, 0.05))
    places = _continual.to_scale(np.array(_continual.ticks(0.0, 99.9, 0.15)))
    whole = _continual.to_scale(99.9) - _continual.to_scale(0.0)
    assert (np.diff(places) / whole >= 0.15).all()


def test_published_numbers_are_drawn_at_the_last_task(study):
    figure = tasks_learnt.draw(study)
    for name, number in [("ewc", 84.0), ("vogn", 94.0)]:
        (marks,) = (one for one in panel(figure, name).get_lines() if one.get_color() == "black")
        assert [marks.get_xdata()[0], marks.get_ydata()[0]] == pytest.approx([10, number])
    assert not [one for one in panel(figure, "joint").get_lines() if one.get_color() == "black"]


def test_learners_that_forget_are_shown_on_the_task_just_learnt(study):
    learnt = 100 * np.diagonal(continual_stores.matrix("independent"), axis1=1, axis2=2)
    colour = figure_style.method_style(study, "independent")["color"]
    lines = panel(tasks_learnt.draw(study), "independent").get_lines()
    (drawn,) = [one for one in lines if one.get_color() == colour and one.get_zorder() == 3]
    expected = [learnt[:, : t + 1].mean() for t in range(10)]
    assert drawn.get_ydata() == pytest.approx(expected)
    for module in (tasks_learnt, per_task_accuracy, continual_table):
        assert "independent: each task just learnt" in module.caption(study)


def by_task(study):
    """Return the lines of accuracy over tasks by learner, and their panel."""
    (axes,) = [each for each in per_task_accuracy.draw(study).get_axes() if each.get_ylabel()]
    return {
        line.get_label(): line for line in axes.get_lines() if len(line.get_xdata()) == 10
    }, axes


def test_per_task_accuracy_draws_the_last_row_of_a(study):
    lines, _ = by_task(study)
    for name in LEARNERS:
        assert lines[name].get_ydata() == pytest.approx(at_end(name))
    (average, _) = per_task_accuracy.draw(study).get_axes()
    order = [label.get_text() for label in average.get_yticklabels()]
    assert order == sorted(LEARNERS, key=lambda name: -at_end(name).mean())
    numbers = [text.get_text() for text in average.texts]
    assert numbers == [f"{at_end(name).mean():.1f}" for name in order]


def test_from_scratch_is_a_dotted_line_with_its_name(study):
    lines, axes = by_task(study)
    assert lines["independent"].get_linestyle() == ":"
    assert "independent" in [text.get_text() for text in axes.texts]
    assert [lines[name].get_linestyle() for name in ("ewc", "vogn")] == ["-", "-"]


def test_per_task_accuracy_has_five_in_colour_named_at_their_ends():
    names = ("finetune", "ewc", "vogn", "si", "vcl", "lp")
    lines, axes = by_task(continual_stores.study(names))
    best = sorted(names, key=lambda name: -at_end(name).mean())[: highlights.MOST]
    grey = {name for name in names if lines[name].get_color() == highlights.GREY}
    assert grey == set(names) - set(best)
    assert {text.get_text() for text in axes.texts} == set(best)
    ticks = axes.get_yticks()
    assert len(ticks) > 3, "the axis has room for more than its ends"


def test_of_few_seeds_each_is_a_point_and_of_more_there_are_bars(study):
    assert study.cube.sizes["seed"] < figure_style.FEWEST_OF_BAND
    assert "small points: the seeds" in per_task_accuracy.caption(study)
    more = continual_stores.study(LEARNERS, seeds=5)
    assert "bars: 95 % interval" in per_task_accuracy.caption(more)
    _, axes = by_task(more)
    low, high = axes.get_ylim()
    for container in axes.containers:
        ends = np.array(container.lines[2][0].get_segments())[:, :, 1]
        assert ends.min() >= low and ends.max() <= high, "no bar is cut"


def test_accuracy_matrix_draws_means_over_seeds(study):
    figure = accuracy_matrix.draw(study)
    for name in LEARNERS:
        (image,) = panel(figure, name).get_images()
        shown = image.get_array().filled(np.nan)
        mean = 100 * continual_stores.matrix(name).mean(axis=0)
        assert shown == pytest.approx(mean, nan_ok=True)
        assert image.get_extent() == [0.5, 10.5, 10.5, 0.5]
    titles = [axes.get_title(loc="left") for axes in figure.get_axes()][: len(LEARNERS)]
    assert titles == list(LEARNERS)


def test_few_tasks_have_their_numbers_in_the_map():
    streams = {"s": continual_stores.stream("s", tasks=3)}
    axes = panel(accuracy_matrix.draw(continual_stores.study(["vogn"], streams)), "vogn")
    mean = 100 * continual_stores.matrix("vogn", 3).mean(axis=0)
    shown = {text.get_position(): text.get_text() for text in axes.texts}
    assert shown == {
        (j + 1, t + 1): f"{mean[t, j]:.{int(mean[t, j] >= 94.5)}f}"
        for t in range(3)
        for j in range(t + 1)
    }


@pytest.mark.parametrize(
    ("percent", "shown"),
    [
        (94.4, "94"),
        (94.9, "94.9"),
        (95.04, "95.0"),
        (99.46, "99.5"),
        (99.94, "99.9"),
        (99.96, "100"),
    ],
)
def test_numbers_of_cells_that_differ_in_colour_differ(percent, shown):
    assert accuracy_matrix._number(percent) == shown


def test_few_maps_are_larger():
    assert accuracy_matrix._height(3) > accuracy_matrix._height(5) > accuracy_matrix._height(6)
    assert accuracy_matrix._height(7) > accuracy_matrix._height(6)


def test_a_scale_of_accuracies_shows_equal_ratios_of_errors_as_equal():
    places = _continual.to_scale(np.array([0.0, 90.0, 99.0]))
    assert np.diff(places) == pytest.approx([1, 1])
    assert _continual.from_scale(places) == pytest.approx([0, 90, 99])
    ends = np.array([99.9, 99.95, 99.99, 100.0, 100.04])
    assert (np.diff(_continual.to_scale(ends)) > 0).all()
    assert _continual.from_scale(_continual.to_scale(ends)) == pytest.approx(ends)
    assert _continual.ticks(55, 99.2, 0.15) == [60, 80, 90, 95, 98, 99]
    assert _continual.ticks(55, 99.2, 0.2) == [60, 90, 98]


@pytest.mark.parametrize(("number", "rows"), [(1, [1]), (6, [6]), (7, [4, 3]), (8, [4, 4])])
def test_rows_of_panels_have_nearly_equal_length(number: int, rows: list[int]) -> None:
    axes = _continual.panels(Figure().subfigures(), number)
    places = [one.get_subplotspec().rowspan.start for one in axes]
    assert [places.count(row) for row in range(max(places) + 1)] == rows
    assert _continual.rows(number) == len(rows)


def test_titles_of_panels_are_of_one_size_that_can_be_read_beside_their_numbers():
    assert _continual.most_columns(["VCL", "EWC"]) == _continual.COLUMNS
    long = ["Fine-tuning + coreset, 100", "Joint"]
    most = _continual.most_columns(long)
    assert most == 4
    panels = _continual.panels(Figure().subfigures(), 4, most)
    assert _continual.SMALLEST <= _continual.title_size(panels, long) < _continual.TITLE
    assert _continual.title_size(panels, ["VCL", "VCL radial, full"]) == _continual.TITLE

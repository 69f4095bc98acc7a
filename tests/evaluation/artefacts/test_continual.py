"""Figures and table of continual learning on synthetic accuracy matrices."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

from shiftbench.core.errors import UserError
from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts import (
    _continual,
    accuracy_matrix,
    continual_table,
    per_task_accuracy,
    tasks_learnt,
)
from tests.evaluation.artefacts import paired
from tests.evaluation.scoring import continual_stores, stores

LEARNERS = ("finetune", "ewc", "vogn", "independent", "joint")
FIGURES = [tasks_learnt, per_task_accuracy, accuracy_matrix]
STREAM = "permuted-mnist"


@pytest.fixture(scope="module")
def study():
    return continual_stores.study(LEARNERS)


def panel(figure, title):
    found = [axes for axes in figure.get_axes() if axes.get_title(loc="left") == title]
    assert len(found) == 1
    return found[0]


def so_far(learner):
    a = 100 * continual_stores.matrix(learner)
    return np.array([a[:, t, : t + 1].mean() for t in range(10)])


def interval(values):
    """Return the ends of the 95 % interval of mean percentages [seed], symmetric in the logit."""
    mean = values.mean() / 100
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values / 100) / (mean * (1 - mean))
    return 100 * stats.logistic.cdf(stats.logistic.ppf(mean) + np.array([-half, half]))


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


def at_end(learner):
    a = 100 * continual_stores.matrix(learner).mean(axis=0)
    return np.diagonal(a) if learner == "independent" else a[-1]


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


def test_the_map_speaks_of_learners_from_scratch_only_where_one_is_drawn(study):
    assert "independent: nothing of the tasks before is known" in accuracy_matrix.caption(study)
    assert "scratch" not in accuracy_matrix.caption(continual_stores.study(["vogn"]))
    assert "nothing" not in accuracy_matrix.caption(continual_stores.study(["vogn"]))


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
    assert "3 of 3 runs per learner" in caption
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


@pytest.mark.parametrize(("number", "rows"), [(1, [1]), (6, [6]), (7, [4, 3]), (8, [4, 4])])
def test_rows_of_panels_have_nearly_equal_length(number: int, rows: list[int]) -> None:
    axes = _continual.panels(Figure().subfigures(), number)
    places = [one.get_subplotspec().rowspan.start for one in axes]
    assert [places.count(row) for row in range(max(places) + 1)] == rows
    assert _continual.rows(number) == len(rows)

"""Figures of recurring segments, widths of drifts, and kinds of shift."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from shiftbench.core.errors import UserError
from shiftbench.data.images import shifted_images, transformed_images
from shiftbench.evaluation.artefacts import drift_width, kinds_of_shift, recall_gain
from shiftbench.evaluation.metrics import drifts
from shiftbench.evaluation.scoring import alarms, statistics
from shiftbench.evaluation.scoring.results import StudyResults
from tests.evaluation.artefacts import paired
from tests.evaluation.scoring import stores

SEEDS = 6
LEARNERS = ("vgs", "vcl")
COMING = {"tasks": 12, "train_per_task": 5, "concepts": 2, "realisations": 2}


def stream(name, family, **settings):
    module = {"transformed-images": transformed_images, "shifted-images": shifted_images}[family]
    store = module.build(module.Settings(**settings), Path())
    about = {"stream": name, "family": family, "settings": settings}
    return store.assign_attrs(spec=json.dumps(about))


def study(streams, metrics, values, cells=None):
    """Return results with given scores, values [stream, learner, metric, seed]."""
    dims = ("stream", "learner", "metric", "seed")
    coords = {"stream": list(streams), "learner": list(LEARNERS), "metric": list(metrics)}
    cube = xr.Dataset(
        {"score": (dims, values), "status": (("stream", "learner", "seed"), ok(len(streams)))},
        {**coords, "seed": range(SEEDS)},
    )
    tree = {"scores": cube}
    for name, store in streams.items():
        for learner in LEARNERS:
            score = np.zeros((1, SEEDS, store.sizes["task"]))
            run = stores.run_store(score, ["accuracy"], store, learner, [["map", {}]])
            tree[f"runs/{name}/{learner}"] = run
    made = StudyResults("a", "A", "", "", tree, None, streams)
    return dataclasses.replace(made, cells=cells or {})


def ok(streams):
    return np.full((streams, len(LEARNERS), SEEDS), "ok")


@pytest.fixture(scope="module")
def recurring():
    pair = {
        name: stream(name, "transformed-images", schedule=schedule, **COMING)
        for name, schedule in (("again", "recurring"), ("fresh", "recurring-twin"))
    }
    values = np.random.default_rng(0).uniform(0.4, 0.8, (2, 2, 1, SEEDS))
    values[0, 1] = values[1, 1] + 0.1
    return study(pair, ["return_accuracy"], values), values


def test_the_gain_is_paired_by_seed(recurring):
    results, values = recurring
    assert recall_gain.twins(results) == [("again", "fresh")]
    of = recall_gain.gain(results, "again", "fresh", "vcl")
    assert of.mean == pytest.approx(0.1) and of.sd == pytest.approx(0, abs=1e-12)
    assert recall_gain.gain(results, "again", "fresh", "vgs").mean == pytest.approx(
        (values[0, 0] - values[1, 0]).mean()
    )


def test_filled_and_hollow_points_are_the_two_streams(recurring):
    results, values = recurring
    left, right = recall_gain.draw(results).get_axes()
    points = [
        line for line in left.lines if len(line.get_xdata()) == 1 and line.get_marker() != "|"
    ]
    found = [float(line.get_xdata()[0]) for line in points]
    means = 100 * values[:, :, 0].mean(axis=-1)
    assert found == pytest.approx([means[0, 0], means[1, 0], means[0, 1], means[1, 1]])
    assert [line.get_markerfacecolor() == "white" for line in points] == [False, True] * 2
    assert [tick.get_text() for tick in left.get_yticklabels()] == list(LEARNERS)
    assert "minus fresh" in right.get_xlabel()
    assert "paired by seed" in recall_gain.caption(results)


def gaining(values, learner):
    """Return the mean gain of a learner in points, and whether its interval holds 0."""
    place = LEARNERS.index(learner)
    points = 100 * (values[0, place, 0] - values[1, place, 0])
    low, high = statistics.interval(points, (-100, 100))[2:4]
    return points.mean(), low <= 0 <= high


def test_the_title_says_who_gains_most_and_whether_significantly(recurring):
    results, values = recurring
    means = {name: gaining(values, name)[0] for name in LEARNERS}
    assert max(means, key=means.get) == "vcl"
    said = (
        "again: vcl gains most from a distribution that comes back, 10.0 points"
        " (no interval: all seeds are equal); no other is significantly worse"
    )
    gains = 100 * (values[0, :, 0] - values[1, :, 0])
    assert not paired.worse(gains[1], gains[:1]).any()
    (block,) = recall_gain.draw(results).subfigs
    assert block.get_suptitle() == recall_gain.message(results, "again", "fresh") == said
    assert recall_gain.caption(results).startswith(f"{said}. Accuracy on")
    values = values.copy()
    values[0, 0, 0] = values[1, 0, 0] + [0.01, 0.02, 0.03] * 2  # 0.1 - 0.02: t = 22
    worse = study(results.streams, ["return_accuracy"], values)
    assert recall_gain.message(worse, "again", "fresh") == (
        "again: vcl gains most from a distribution that comes back, 10.0 points"
        " (no interval: all seeds are equal); the other is significantly worse"
    )


def test_the_title_without_a_gain_says_whether_the_interval_of_the_loss_holds_0(recurring):
    results, values = recurring
    mean, uncertain = gaining(values, "vgs")
    assert uncertain and mean < 0
    alone = dataclasses.replace(results, bounds=["vcl"])
    said = recall_gain.message(alone, "again", "fresh")
    assert said.endswith(f"vgs loses {-mean:.1f} points (the interval contains 0)")


def gain_study(recurring, *gains):
    """Return a study with these gains of vgs and vcl in points; NaN for one that failed."""
    results, _ = recurring
    values = np.full((2, 2, 1, SEEDS), 0.5)
    values[0] += np.array(gains)[:, None, None] / 100
    return study(results.streams, ["return_accuracy"], values)


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        ((7, 7), "vgs and vcl gain most from a distribution that comes back, 7.0 points{}"),
        ((np.nan, 7), "vcl gains 7.0 points{} from a distribution that comes back"),
        (
            (-7, -3),
            "no method gains from a distribution that comes back; vcl loses least, 3.0 points{}",
        ),
        (
            (np.nan, -3),
            "no method gains from a distribution that comes back; vcl loses 3.0 points{}",
        ),
        ((np.nan, np.nan), "no method has an accuracy on a distribution that comes back"),
    ],
)
def test_the_title_fits_ties_losses_and_failed_methods(recurring, gains, said):
    results = gain_study(recurring, *gains)
    words = said.format(" (no interval: all seeds are equal)")
    assert recall_gain.message(results, "again", "fresh") == f"again: {words}"


def pairs_of(order, **settings):
    """Return a study of these streams, in this order, without scores."""
    streams = {}
    for name in order:
        schedule = "recurring-twin" if name.endswith("-twin") else "recurring"
        own = COMING | settings[name[0]]
        streams[name] = stream(name, "transformed-images", schedule=schedule, **own)
    values = np.full((len(order), 2, 1, SEEDS), 0.5)
    return study(streams, ["return_accuracy"], values)


@pytest.mark.parametrize(
    "of_b",
    [{"concepts": 3}, {"tasks": 15}, {"drift_mode": "morph"}],
    ids=["other concepts", "other tasks", "the same truth"],
)
@pytest.mark.parametrize("order", [("a", "b", "b-twin", "a-twin"), ("b-twin", "a", "b", "a-twin")])
def test_a_twin_is_known_by_what_it_stands_for(order, of_b):
    results = pairs_of(order, a={}, b=of_b)
    assert recall_gain.twins(results) == [("a", "a-twin"), ("b", "b-twin")]


def test_a_twin_of_none_or_of_several_streams_is_refused():
    other = pairs_of(["a", "b-twin"], a={}, b={"concepts": 3})
    with pytest.raises(UserError, match="whether b-twin is the twin of a: its `stands_for`"):
        recall_gain.draw(other)
    same = pairs_of(["a", "b", "a-twin", "b-twin"], a={}, b={})
    with pytest.raises(UserError, match="whether a-twin is the twin of a or b: "):
        recall_gain.draw(same)


def test_streams_without_a_twin_are_refused(recurring):
    results, _ = recurring
    alone = dataclasses.replace(results, streams={"again": results.streams["again"]})
    with pytest.raises(UserError, match="recurring-twin"):
        recall_gain.draw(alone)


def test_alarms_per_drift_counts_those_in_windows():
    of = alarms.Episodes(np.array([[4, 12]]), np.array([[6, 12]]), np.array([[12, 20]]))
    raised = np.zeros((1, 20), bool)
    raised[0, [2, 4, 6, 8, 9, 13]] = True  # windows: 4 to 8 and 12 to 14
    assert drifts.alarms_per_drift(alarms.judge(raised, of, window=2)) == pytest.approx([2.0])
    none = alarms.Episodes(*(np.full((1, 1), 20),) * 3)
    assert np.isnan(drifts.alarms_per_drift(alarms.judge(raised, none, window=2))).all()


@pytest.fixture(scope="module")
def widths():
    cells = {f"w{w}-{m}": {"drift_width": w, "drift_mode": m} for w in (0, 2) for m in MODES}
    fields = {"tasks": 10, "train_per_task": 5, "realisations": 2}
    streams = {name: stream(name, "transformed-images", **fields) for name in cells}
    values = np.random.default_rng(1).uniform(0.4, 0.8, (4, 2, 3, SEEDS))
    values[:, 1, 1:] = np.nan  # vcl makes no decisions
    return study(streams, drift_width.FACTS.uses, values, cells), values


MODES = ("mixture", "morph")


def test_a_row_for_each_metric_a_column_for_each_mode_and_a_line_for_each_method(widths):
    results, values = widths
    panels = drift_width.draw(results).get_axes()
    assert [len(axes.containers) for axes in panels] == [2, 2, 1, 1, 1, 1]
    for axes, streams in zip(panels[:2], ([0, 2], [1, 3]), strict=True):
        mean = 100 * values[streams, 0, 0].mean(axis=-1)
        assert axes.containers[0].lines[0].get_ydata() == pytest.approx(mean)
    titles = [axes.get_title(loc="left").split("  ")[-1] for axes in panels[:2]]
    assert titles == ["kind of drift: mixture", "kind of drift: morph"]
    labels = [axes.get_ylabel() for axes in panels[::2]]
    assert labels == ["accuracy\n(%)", "alarms\n(per drift)", "drifts found\n(%)"]
    assert [tick.get_text() for tick in panels[0].get_xticklabels()] == ["0", "2"]
    assert panels[0].get_xlabel() == "width of a drift (tasks)"
    assert "0: at once" in drift_width.caption(results)


def test_bars_of_accuracy_are_of_differences_on_the_same_seeds(widths):
    results, values = widths
    bars = drift_width.draw(results).get_axes()[0].containers[0].lines[2][0].get_segments()
    for ends, stream in zip(bars, (0, 2), strict=True):
        accuracy = 100 * values[stream, :, 0]
        over = statistics.interval(accuracy[0] - accuracy.mean(axis=0))
        expected = accuracy[0].mean() + np.array([over.low, over.high]) - over.mean
        assert ends[:, 1] == pytest.approx(expected)


def test_points_seem_to_lie_at_their_level(widths):
    for axes in drift_width.draw(widths[0]).get_axes():
        places = np.array([bars.lines[0].get_xdata() for bars in axes.containers])
        assert np.abs(places - [0, 1]).max() < 0.12
        assert axes.get_xticks().tolist() == [0, 1]


def test_other_axes_are_refused(widths):
    results, _ = widths
    other = {name: {"drift_mode": "morph"} for name in results.cells}
    with pytest.raises(UserError, match="drift_width"):
        drift_width.draw(dataclasses.replace(results, cells=other))


@pytest.fixture(scope="module")
def kinds():
    streams = {
        change: stream(change, "shifted-images", change=change, tasks=8, train_per_task=5)
        for change in ("map", "labels", "none")
    }
    values = np.random.default_rng(2).uniform(0.4, 0.8, (3, 2, 3, SEEDS))
    values[:, 1, 1:] = np.nan
    return study(streams, kinds_of_shift.FACTS.uses, values), values


def test_the_loss_is_against_the_stream_that_does_not_change(kinds):
    results, values = kinds
    assert kinds_of_shift.unchanged(results) == "none"
    of = kinds_of_shift.loss(results, "none", "labels", "vcl")
    difference = values[2, 1, 0] - values[1, 1, 0]
    assert of.mean == pytest.approx(100 * difference.mean())
    low, high = statistics.interval(100 * difference, (-100, 100))[2:4]
    assert (of.low, of.high) == pytest.approx((low, high))


def test_three_panels_by_kind(kinds):
    results, _ = kinds
    panels = kinds_of_shift.draw(results).get_axes()
    ticks = [[tick.get_text() for tick in axes.get_xticklabels()] for axes in panels]
    words = ["affine map\nof images\n(covariate)", "meaning of\nlabels\n(concept)"]
    assert ticks[0] == ticks[1] == words
    assert ticks[2] == [*words, "nothing"]
    assert [len(axes.containers) for axes in panels] == [2, 1, 1]
    places = [line.lines[0].get_xdata() for line in panels[0].containers]
    np.testing.assert_allclose(places, [[-0.1, 0.9], [0.1, 1.1]])
    window = alarms.horizon(results.streams["labels"]).window
    assert f"at most {window} tasks later" in kinds_of_shift.caption(results)


def test_a_study_needs_a_stream_that_does_not_change(kinds):
    results, _ = kinds
    streams = {name: store for name, store in results.streams.items() if name != "none"}
    with pytest.raises(UserError, match="change: none"):
        kinds_of_shift.draw(dataclasses.replace(results, streams=streams))

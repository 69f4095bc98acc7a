"""Segmentations: exhaustive search, TCPDBench's numbers, and runs without one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logsumexp

from shiftbench.config import components
from shiftbench.core.errors import UserError
from shiftbench.data.series import series
from shiftbench.evaluation.scoring import beam_lineage, segmentation
from tests.evaluation.scoring import stores

cover = components.load_metric("cover")
f1 = components.load_metric("f1")
false_changepoints = components.load_metric("false_changepoints")
false_discovery_rate = components.load_metric("false_discovery_rate")
n_changepoints = components.load_metric("n_changepoints")
run_length_zeros = components.load_metric("run_length_zeros")

METRICS = (n_changepoints, run_length_zeros, f1, cover, false_changepoints, false_discovery_rate)
LOG_HAZARD, LOG_GROWTH = np.log(0.2), np.log(0.8)


def stream(folder=Path("unused"), **settings):
    spec = {"stream": "series", "family": "series", "settings": settings}
    return series.build(series.Settings(**settings), folder).assign_attrs(spec=json.dumps(spec))


@pytest.fixture(scope="module")
def well_log(tmp_path_factory):
    """Return a stream with the well-log's annotations; its values do not matter here."""
    folder = tmp_path_factory.mktemp("well-log")
    (folder / "well.txt").write_text("\n".join(map(str, range(4050))))
    return stream(folder, dataset="well-log", regressors="constant")


def run_of(data, infos):
    score = np.zeros((1, *next(iter(infos.values())).shape[:2]))
    return stores.run_store(score, ["squared_error"], data, "standard", [["x", {}]], infos)


def certain(data, *places):
    """Return a run whose single slot is certain of these changepoints, one set per seed."""
    length = np.zeros((len(places), data.sizes["task"], 1))
    for of_seed, starts in zip(length, places, strict=True):
        tasks = np.arange(len(of_seed))
        last = np.searchsorted(sorted({0, *starts}), tasks, side="right") - 1
        of_seed[:, 0] = tasks - np.array(sorted({0, *starts}))[last]
    zeros = np.zeros_like(length)
    return run_of(data, {"run_length": length, "log_weight": zeros, "map_log_joint": zeros})


def flags(places, points):
    return np.isin(np.arange(points), places)


def annotated(people, points):
    return np.stack([flags(marks, points) for marks in people])


def best_segmentation(evidence):
    """Return the most probable segment starts, by search; evidence [start, end] of segments."""
    tasks = len(evidence)

    def log_joint(starts):
        ends = np.append(starts[1:], tasks) - 1
        changes = len(starts) - 1
        fit = evidence[starts, ends].sum()
        return fit + changes * LOG_HAZARD + (tasks - 1 - changes) * LOG_GROWTH

    every = (
        np.flatnonzero([1, *(code >> k & 1 for k in range(tasks - 1))])
        for code in range(2 ** (tasks - 1))
    )
    return max(every, key=log_joint)[1:].tolist()


def slots(evidence, random):
    """Return run lengths and joints of best histories [task, slot], shuffled and with gaps."""
    tasks = len(evidence)
    length, joint = np.zeros((tasks, tasks + 2)), np.full((tasks, tasks + 2), -np.inf)
    best = [-LOG_HAZARD]  # the first segment needs no change
    for t in range(tasks):
        starts = np.arange(t + 1)
        order = random.permutation(tasks + 2)[: t + 1]
        length[t, order] = t - starts
        before = np.array(best) + LOG_HAZARD
        joint[t, order] = before + evidence[starts, t] + (t - starts) * LOG_GROWTH
        best.append(joint[t].max())
    return length, joint


def test_backtracking_is_exhaustive_search():
    random = np.random.default_rng(0)
    evidence = [
        np.triu(random.normal(0, 2, (9, 9)) - 0.3 * np.abs(np.subtract.outer(range(9), range(9))))
        for _ in range(30)
    ]
    length, joint = map(np.stack, zip(*(slots(e, random) for e in evidence), strict=True))
    data = stream().isel(task=slice(9))
    run = run_of(data, {"run_length": length, "log_weight": joint, "map_log_joint": joint})
    found = [places.tolist() for places in segmentation.changepoints(run)]
    assert found == [best_segmentation(e) for e in evidence]
    assert len({len(places) for places in found}) > 3
    np.testing.assert_array_equal(n_changepoints.score(run, data), [len(p) for p in found])


def test_the_most_probable_run_length_is_that_of_all_models_together():
    random = np.random.default_rng(1)
    length = random.integers(0, 4, (3, 20, 8))
    log_weight = np.where(random.random((3, 20, 8)) < 0.2, -np.inf, random.normal(size=(3, 20, 8)))
    log_weight -= logsumexp(log_weight, axis=2, keepdims=True)
    data = stream().isel(task=slice(20))
    infos = {"run_length": length, "log_weight": log_weight, "map_log_joint": log_weight}
    run = run_of(data, infos)
    mass = [(np.exp(log_weight) * (length == r)).sum(axis=2) for r in range(4)]
    np.testing.assert_array_equal(segmentation.run_length_argmax(run), np.argmax(mass, axis=0))
    zeros = (np.argmax(mass, axis=0) == 0).sum(axis=1)
    np.testing.assert_array_equal(run_length_zeros.score(run, data), zeros)


def test_run_lengths_of_zero_far_from_true_changes_are_false_discoveries():
    """Zeros at the start, twice within 5 of the only change, and twice far away."""
    data = stream().isel(task=slice(40))
    data["shift"][:] = False
    data["shift"][:, 20] = True
    length = np.ones((1, 40, 1), int)
    length[0, [0, 18, 19, 30, 35]] = 0
    run = run_of(data, {"run_length": length, "log_weight": np.zeros(length.shape)})
    metric = components.load_metric("run_length_fdr")
    assert metric.score(run, data) == pytest.approx([3 / 4])
    assert np.isnan(metric.score(run.drop_vars("info_run_length"), data)).all()


def test_tasks_before_the_first_rows_have_no_run_length_and_are_no_change():
    """The first three of six tasks have no rows; a false change is inferred at the fifth."""
    data = stream().isel(task=slice(6))
    data["shift"][:] = False
    length = np.array([0, 0, 0, 0, 0, 1])[None, :, None]
    weight = np.array([-np.inf, -np.inf, -np.inf, 0, 0, 0])[None, :, None]
    run = run_of(data, {"run_length": length, "log_weight": weight})
    assert segmentation.run_length_argmax(run).tolist() == [[-1, -1, -1, 0, 0, 1]]
    assert run_length_zeros.score(run, data) == [2]
    fdr = components.load_metric("run_length_fdr")
    assert fdr.score(run, data) == [1] and fdr.score(run.isel(seed=[]), data).shape == (0,)
    length[0, 4] = 1
    run = run_of(data, {"run_length": length, "log_weight": weight})
    assert fdr.score(run, data) == [0], "the first run begins without a change"


def test_tcpdbench_on_its_own_examples():
    people = annotated([[10, 20], [11, 20], [10], [0, 5]], 45)
    assert segmentation.f1(flags([10, 20], 45), people, 5) == 1
    people = annotated([[], [10], [50]], 60)
    assert segmentation.f1(flags([10], 60), people, 5) == pytest.approx(0.9090909090909091)
    assert segmentation.f1(flags([], 60), people, 5) == pytest.approx(0.8)
    people = annotated([[10, 20], [10], [0, 5]], 45)
    assert segmentation.cover(flags([10, 20], 45), people) == pytest.approx(0.7962962962962963)
    people = annotated([[], [10], [40]], 45)
    assert segmentation.cover(flags([10], 45), people) == pytest.approx(0.7954144620811286)
    assert segmentation.cover(flags([], 45), people) == pytest.approx(0.8189300411522634)
    for true, number in (([3, 8, 20], 3), ([1, 3, 8, 20], 3), ([1, 3, 5, 8, 20], 3), ([], 0)):
        found = flags(true, 30)
        assert segmentation.count_found(flags([1, 10, 20, 23], 30), found, 5) == number


def nearest_free(true, found, margin):
    """Count matches by TCPDBench's rule, which depends on the order of `true`."""
    free, count = set(found), 0
    for place in true:
        near = sorted((abs(place - other), other) for other in free if abs(place - other) <= margin)
        count += bool(near)
        free -= {other for _, other in near[:1]}
    return count


@pytest.mark.parametrize(("found", "in_time", "by_hash"), [([2, 9], 1, 2), ([6, 13], 2, 1)])
def test_changepoints_are_matched_in_time_and_not_in_the_order_of_a_set(found, in_time, by_hash):
    """Python's set of the changepoints 7 and 8 starts with 8, whose hash is 0 modulo 8."""
    assert nearest_free([7, 8], found, 5) == in_time
    assert nearest_free([8, 7], found, 5) == by_hash
    assert segmentation.count_found(flags([7, 8], 20), flags(found, 20), 5) == in_time


def test_tcpdbench_on_the_well_log_without_changepoints(well_log):
    nothing = certain(well_log, ())
    assert f1.score(nothing, well_log).round(3) == 0.237
    assert cover.score(nothing, well_log).round(3) == 0.225
    assert n_changepoints.score(nothing, well_log) == 0
    assert false_changepoints.score(nothing, well_log) == 0
    assert false_discovery_rate.score(nothing, well_log) == 0


REFERENCE_STANDARD = (
    1, 2, 8, 9, 20, 356, 361, 582, 583, 716, 790, 1030, 1031, 1071, 1211, 1221, 1222, 1424, 1433,
    1527, 1686, 1869, 2049, 2410, 2471, 2532, 2592, 2771, 2784, 3745, 3944, 3966,
)  # fmt: skip
REFERENCE_ROBUST = (1, 2, 20, 1072, 1526, 1686, 1866, 2050, 2407, 2474, 2530, 2596, 2768)
ROBUST_15 = (
    20, 578, 1035, 1071, 1527, 1686, 1867, 2049, 2409, 2471, 2532, 2592, 2771, 2784, 3943, 3966,
)  # fmt: skip
ROBUST_25 = (20, 1071, 1527, 1686, 1867, 2049, 2409, 2471, 2592, 2780, 3966)


@pytest.mark.parametrize(
    ("positions", "scores"),
    [
        (REFERENCE_STANDARD, (0.689, 0.569)),
        (REFERENCE_ROBUST, (0.919, 0.845)),
        (ROBUST_15, (0.885, 0.708)),
        (ROBUST_25, (0.925, 0.823)),
    ],
)
def test_segmentations_of_the_notes(well_log, positions, scores):
    """notes/changepoints.md, A8, where a position is rounded down to an observed value."""
    found = flags((np.array(positions) - 1) // 6, 675)
    true = segmentation.compared(certain(well_log, ()), well_log)[0].true
    assert segmentation.f1(found, true, 5) == pytest.approx(scores[0], abs=5e-4)
    assert segmentation.cover(found, true) == pytest.approx(scores[1], abs=5e-4)


def test_an_annotators_own_segmentation(well_log):
    """At full resolution, changes may be anywhere from the previous value to the marked one."""
    marks = 6 * np.array([179, 255, 281, 312, 343, 402, 412, 422, 432])
    run = certain(well_log, marks, marks - 5, marks + 1, [*marks, 3000])
    found = [pair.found for pair in segmentation.compared(run, well_log)]
    assert (found[0] == found[1]).all() and (found[0] != found[2]).any()
    person = well_log["annotator"].values.tolist().index("7")
    assert (segmentation.compared(run, well_log)[0].true[person] == found[0]).all()
    assert false_changepoints.score(run, well_log).tolist() == [0, 0, 0, 1]
    assert false_discovery_rate.score(run, well_log).tolist() == [0, 0, 0, 0.1]
    assert f1.score(run, well_log)[0] > f1.score(run, well_log)[3]


def test_false_changepoints_of_a_pair_around_a_true_one():
    data = stream()
    run = certain(data, (199, 399), (198, 201, 399), (190, 399), (399,))
    assert false_changepoints.score(run, data).tolist() == [0, 1, 1, 0]
    assert false_discovery_rate.score(run, data) == pytest.approx([0, 1 / 3, 1 / 2, 0])
    assert f1.score(run, data) == pytest.approx([1, 6 / 7, 2 / 3, 4 / 5])


def test_cover_equals_sets():
    random = np.random.default_rng(2)
    for _ in range(50):
        found, true = random.random((2, 30)) < 0.2
        groups = [
            [set(part) for part in np.split(np.arange(30), np.flatnonzero(one[1:]) + 1)]
            for one in (found, true)
        ]
        best = [max(len(a & b) / len(a | b) for b in groups[0]) for a in groups[1]]
        expected = sum(len(a) * j for a, j in zip(groups[1], best, strict=True)) / 30
        assert segmentation.cover(found, true[None]) == pytest.approx(expected)
    assert segmentation.cover(true, true[None]) == 1


def test_a_beam_has_its_changepoints_in_its_lineage():
    data = stores.toy_stream()
    run = stores.toy_run(data, "vbs", size=4)
    np.testing.assert_array_equal(segmentation.inferred(run), beam_lineage.shifts(run))
    assert np.isnan(run_length_zeros.score(run, data)).all()
    assert np.isfinite(f1.score(run, data)).all()


def test_no_score_where_nothing_is_decided_or_known():
    data = stores.toy_stream()
    run = stores.run_store(np.zeros((1, 4, 30)), ["x"], data, "plain", [["x", {}]])
    for metric in METRICS:
        assert np.isnan(metric.score(run, data)).all()
        assert metric.score(run.isel(seed=[]), data).shape == (0,)
    unknown = stream().assign_attrs(truth="unknown")
    run = certain(unknown, (5, 9))
    assert n_changepoints.score(run, unknown) == 2
    for metric in METRICS[2:]:
        assert np.isnan(metric.score(run, unknown)).all()
        assert metric.score(run.isel(seed=[]), stream()).shape == (0,)


def test_the_segmentation_of_all_tasks_is_that_of_the_last_one():
    """Only the last segmentation counts, without changes in a warm-up before the first task."""
    data = stream()
    tasks = data.sizes["task"]
    since = np.full((1, tasks, 5), -1.0)
    since[0, :, 0] = 1
    since[0, -1, :4] = [4, 30, tasks - 1, tasks + 2]
    run_length = np.zeros_like(since)
    weight = np.tile([0.0, *4 * [-np.inf]], (1, tasks, 1))
    infos = {"run_length": run_length, "log_weight": weight, "map_log_joint": weight}
    run = run_of(data, infos | {"rows_since_change": since})
    (found,) = segmentation.changepoints(run)
    assert found.tolist() == [tasks - 31, tasks - 5]
    with pytest.raises(UserError, match="rows_per_task"):
        run["info_run_length"] += tasks
        segmentation.changepoints(run)


def test_a_change_before_the_last_task_stays_where_the_first_run_has_a_warm_up():
    data = stream()
    length = np.arange(1.0, data.sizes["task"] + 1)[None, :, None]
    length[0, -1] = 0
    infos = {name: np.zeros_like(length) for name in ("log_weight", "map_log_joint")}
    (found,) = segmentation.changepoints(run_of(data, infos | {"run_length": length}))
    assert found.tolist() == [data.sizes["task"] - 1]


def test_run_lengths_in_observations_are_refused_where_tasks_have_more_than_one():
    data = stream(rows_per_task=3)
    tasks = np.arange(data.sizes["task"])
    length = (3 * tasks + 2)[None, :, None].astype(float)
    infos = {name: np.zeros_like(length) for name in ("log_weight", "map_log_joint")}
    with pytest.raises(segmentation.RowsCounted, match="rows_per_task"):
        f1.score(run_of(data, infos | {"run_length": length}), data)

"""Images under one kind of shift: invariants, and distributions of what changes."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from shiftbench.config import components
from shiftbench.core.errors import UserError
from shiftbench.data.images import shifted_images, transformed_images
from shiftbench.data.images.shifted_images import KINDS, Settings

SHARED = {"tasks": 12, "schedule": "irregular", "tasks_per_segment": 4, "train_per_task": 60}


@functools.cache
def build(change, **settings):
    return shifted_images.build(Settings(change=change, **SHARED | settings), Path("unused"))


def read(change, realisation, t, **settings):
    return shifted_images.task(build(change, **settings), [realisation], t)


def first_shift(realisation, change="map"):
    return int(np.flatnonzero(build(change)["shift"][realisation])[0])


def same(one, other):
    return all(
        left.tobytes() == right.tobytes()
        for a, b in zip(one, other, strict=True)
        for left, right in zip(a, b, strict=True)
    )


def test_all_kinds_are_the_same_to_the_byte_until_the_first_change():
    for realisation in range(3):
        first = first_shift(realisation)
        for t in (-1, *range(first + 1)):
            tasks = {change: read(change, realisation, t) for change in KINDS}
            if t == -1:
                tasks = {change: (task.train,) for change, task in tasks.items()}
            others = [same(task, tasks["none"]) for task in tasks.values()]
            assert others == ([True] * 5 if t < first else [False] * 4 + [True])


def test_maps_are_those_of_transformed_images():
    store = transformed_images.build(transformed_images.Settings(**SHARED), Path("unused"))
    for t in (0, 5, 11):
        assert same(read("map", 1, t), transformed_images.task(store, [1], t))


def test_where_nothing_changes_there_is_no_shift():
    store = build("none")
    assert not store["shift"].any() and store.attrs["shift_kind"] == "none"
    for t in range(12):
        task = read("none", 0, t)
        images = store.images.values[store.split.values == 2] / np.float32(255)
        np.testing.assert_array_equal(task.test.inputs[0], images)
        index = store.train_index.values[0, t]
        np.testing.assert_array_equal(task.train.targets[0], store.label.values[index])


@pytest.mark.parametrize("change", KINDS)
def test_the_store_says_its_kind(change):
    assert build(change).attrs["shift_kind"] == KINDS[change]
    found = {name for name in ("tilt", "class_share", "label_of_class") if name in build(change)}
    expected = shifted_images.VARIABLES.get(change)
    assert found == ({expected[0]} if expected else set())


def test_labels_are_a_bijection_on_the_images_that_do_not_change():
    store = build("labels")
    for t in range(12):
        task, before = read("labels", 2, t), read("none", 2, t)
        labels = store.label_of_class.values[2, store.segment_of_task.values[2, t]]
        assert sorted(labels) == list(range(10))
        for one, other in zip(task, before, strict=True):
            np.testing.assert_array_equal(one.inputs, other.inputs)
            np.testing.assert_array_equal(one.targets, labels[other.targets])
    drawn = store.label_of_class.values[:, 1:].reshape(-1, 10)
    assert (drawn != np.arange(10)).any(axis=1).all() and len(np.unique(drawn, axis=0)) > 10


def test_class_shares_follow_the_dirichlet_distribution():
    store = build("shares", realisations=60)
    shares = store.class_share.values[:, 1:].reshape(-1, 10)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    for of_class in shares[::11].T:  # one share is Beta(.3, 9 x .3)
        assert scipy.stats.kstest(of_class, scipy.stats.beta(0.3, 2.7).cdf).pvalue > 1e-3


def test_rows_have_the_class_shares_and_images_given_classes_stay():
    store = build("shares", train_per_task=1000)
    t = 11
    task = read("shares", 0, t, train_per_task=1000)
    share = store.class_share.values[0, store.segment_of_task.values[0, t]]
    for batch, count in ((task.train, 1000), (task.test, 397)):
        found = np.bincount(batch.targets[0], minlength=10)
        low, high = scipy.stats.binom(count, share).interval(1 - 1e-4)
        assert ((low <= found) & (found <= high)).all()
    rows = shifted_images._rows(store, 0, t, "train")
    most = int(share.argmax())
    drawn = rows[store.label.values[rows] == most]
    pool = np.flatnonzero((store.label.values == most) & (store.split.values == 0))
    counts = np.bincount(np.searchsorted(pool, drawn), minlength=len(pool))
    assert np.isin(drawn, pool).all() and scipy.stats.chisquare(counts).pvalue > 1e-3


def test_rows_are_drawn_with_weights_that_rise_with_brightness():
    store = build("rows", train_per_task=1000)
    assert np.abs(store.tilt).max() <= 2 and (store.tilt[:, 0] == 0).all()
    pool = np.flatnonzero(store.split.values == 0)
    level = store.images.values[pool].mean(axis=(1, 2, 3))
    x = (level - level.mean()) / level.std()
    t = 11
    segment = int(store.segment_of_task.values[1, t])
    tilt = float(store.tilt.values[1, segment])
    weight = np.exp(tilt * x) / np.exp(tilt * x).sum()
    np.testing.assert_allclose(shifted_images.weights(store, 1, segment, pool), weight, rtol=1e-9)
    rows = shifted_images._rows(store, 1, t, "train")
    drawn = x[np.searchsorted(pool, rows)]
    mean = weight @ x
    sd = np.sqrt(weight @ (x - mean) ** 2 / len(rows))
    assert abs(drawn.mean() - mean) < 4 * sd and abs(mean) > 5 * sd
    labels = read("rows", 1, t, train_per_task=1000).train.targets[0]
    np.testing.assert_array_equal(labels, store.label.values[rows])


def test_held_out_images_are_the_same_in_all_tasks_of_a_segment():
    store = build("rows")
    segment = store.segment_of_task.values[0]
    changed = store.changed.values[segment]
    for t in range(1, 12):
        equal = (read("rows", 0, t).test.inputs == read("rows", 0, t - 1).test.inputs).all()
        assert equal == (segment[t] == segment[t - 1] or not changed[t])


def test_only_maps_change_gradually():
    settings = components.check(
        "streams", "shifted-images", {"change": "labels", "drift_width": 2, "tasks": 12}
    )
    (reason,) = components.unsupported("streams", "shifted-images", settings)
    assert "set drift_width to 0, or change to map" in reason
    with pytest.raises(UserError, match="lower tasks_per_segment"):
        build("labels", tasks=3)

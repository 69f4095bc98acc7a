"""Images under maps that change every few tasks: order, maps, splits and warm-up."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from shiftbench.core.errors import UserError
from shiftbench.data.images import _affine, _segment_maps, transformed_images
from shiftbench.data.images.transformed_images import Settings
from tests.real_files import MIRROR, needs_mirror


@functools.cache
def build(**settings):
    return transformed_images.build(Settings(**settings), Path("unused"))


def test_one_map_a_segment_and_none_in_the_first():
    store = build(tasks=7)
    assert store.sizes["segment"] == 3
    np.testing.assert_array_equal(store.segment_of_task, [[0, 0, 0, 1, 1, 1, 2]] * 5)
    np.testing.assert_array_equal(store["shift"].values, [[0, 0, 0, 1, 0, 0, 1]] * 5)
    assert (store.scale[:, 0] == 1).all() and (store.scale[:, 1:] != 1).all()
    assert (store.rotation[:, 0] == 0).all() and (store.translation[:, 0] == 0).all()


def test_maps_follow_their_distributions():
    store = build(realisations=100, tasks=93, train_per_task=1)
    scale, rotation, translation = (
        store[name].values[:, 1:].ravel() for name in ("scale", "rotation", "translation")
    )
    assert scipy.stats.kstest(scale, scipy.stats.norm(1, 0.3).cdf).pvalue > 1e-3
    assert scale.min() >= _segment_maps.SMALLEST_SCALE
    assert scipy.stats.kstest(rotation, scipy.stats.norm(0, 10).cdf).pvalue > 1e-3
    assert scipy.stats.kstest(np.abs(translation), scipy.stats.beta(1, 10).cdf).pvalue > 1e-3
    assert 0.47 < (translation > 0).mean() < 0.53


def test_a_tiny_or_negative_scale_is_drawn_again():
    store = build(realisations=20, tasks=30, train_per_task=1, scale_sd=5.0)
    assert store.scale.values.min() >= _segment_maps.SMALLEST_SCALE


def test_strength_multiplies_the_maps_of_the_same_draws():
    whole, half = build(tasks=12), build(tasks=12, strength=0.5)
    np.testing.assert_allclose(half.scale - 1, (whole.scale - 1) / 2, rtol=1e-12)
    np.testing.assert_array_equal(half.rotation, whole.rotation / 2)
    np.testing.assert_array_equal(half.translation, whole.translation / 2)
    np.testing.assert_array_equal(half.train_index, whole.train_index)


def test_without_strength_there_is_no_map_though_segments_change():
    store = build(tasks=6, strength=0.0)
    assert (store.scale == 1).all() and not store.rotation.any() and not store.translation.any()
    assert store["shift"].values[0].tolist() == [False, False, False, True, False, False]
    one, other = (transformed_images.task(store, [0], t).test for t in (0, 5))
    np.testing.assert_array_equal(one.inputs, other.inputs)


def test_training_images_are_shuffled_in_each_segment_and_taken_in_turn():
    store = build(tasks=6, train_per_task=500)
    for first in (0, 3):
        three = store.train_index.values[1, first : first + 3].ravel()
        assert len(set(three[:1200])) == 1200
        np.testing.assert_array_equal(three[1200:], three[:300])
    index = store.train_index.values
    assert (index[1, 0] != index[1, 3]).any() and (index[1, 0] != index[0, 0]).any()
    assert index.max() < 1200 and index.dtype == np.uint16


def test_splits_are_disjoint_and_of_the_size_asked_for():
    store = build(validation=100)
    assert np.bincount(store.split).tolist() == [1200, 100, 497]


def test_task_applies_the_map_of_its_segment_to_all_its_images():
    store = build()
    task = transformed_images.task(store, [3, 1], 8)
    for position, realisation in enumerate([3, 1]):
        parameters = [store[name].values[realisation, 2] for name in MAP]
        operator = _affine.interpolation(_affine.matrix(*parameters, 8, 8), 8, 8)
        images = store.images.values
        index = store.train_index.values[realisation, 8]
        np.testing.assert_array_equal(
            task.train.inputs[position], _affine.warp(images[index], operator)
        )
        np.testing.assert_array_equal(task.train.targets[position], store.label.values[index])
        np.testing.assert_array_equal(
            task.test.inputs[position], _affine.warp(images[store.split.values == 2], operator)
        )
        np.testing.assert_array_equal(
            task.validation.targets[position], store.label.values[store.split.values == 1]
        )


MAP = ("scale", "rotation", "translation")


def test_warm_up_is_the_untransformed_training_set():
    store = build()
    task = transformed_images.task(store, [0, 4], -1)
    expected = store.images.values[store.split.values == 0] / np.float32(255)
    np.testing.assert_array_equal(task.train.inputs[1], expected)
    assert task.validation is None and task.test is None
    assert task.train.inputs.strides[0] == 0  # stored once for all repetitions


def test_warm_up_of_a_given_size_or_none():
    store = build(warm_up_size=50)
    index = store.warm_up_index.values
    assert transformed_images.task(store, [0], -1).train.inputs.shape == (1, 50, 8, 8, 1)
    assert len(set(index)) == 50 and index.max() > 1000
    without = build(warm_up=False)
    assert without.attrs["warm_up"] == 0 and "warm_up_index" not in without
    assert transformed_images.problem(without).n_train == 400


def test_no_validation_images():
    task = transformed_images.task(build(validation=0), [0], 0)
    assert task.validation is None and task.test.targets.shape == (1, 597)


def test_realisations_for_tuning_are_judged_on_validation_images_alone():
    store, all_of_them = build(validation=100), build(validation=100, realisations=9)
    tuned = build(validation=100, realisations=4, first_realisation=5, judge_on="validation")
    for name in ("scale", "train_index"):
        np.testing.assert_array_equal(tuned[name].values, all_of_them[name].values[5:])
    seen, judged = (transformed_images.task(one, [0], 1) for one in (tuned, store))
    assert seen.validation is None and seen.test.targets.shape == (1, 100)
    np.testing.assert_array_equal(seen.test.targets, judged.validation.targets)
    with pytest.raises(UserError, match="no images are set apart"):
        build(validation=0, judge_on="validation")


def test_first_tasks_are_the_same_in_a_longer_stream():
    short, long = build(tasks=4), build(tasks=9)
    for name in ("train_index", "shift"):
        np.testing.assert_array_equal(short[name], long[name][:, :4])
    np.testing.assert_array_equal(short.scale, long.scale[:, :2])


@pytest.mark.parametrize("name", ["train_per_task", "warm_up_size", "validation"])
def test_more_images_than_there_are(name):
    with pytest.raises(UserError, match=f"{name} is 5000, but digits allows at most"):
        build(**{name: 5000})


@needs_mirror
def test_fashion_mnist():
    settings = Settings("fashion-mnist", realisations=2, tasks=4, validation=5000)
    raw = MIRROR / "fashion-mnist"
    store = transformed_images.build(settings, raw)
    task = transformed_images.task(store, [0, 1], 3)
    assert task.train.inputs.shape == (2, 400, 28, 28, 1)
    assert task.test.inputs.shape == (2, 5000, 28, 28, 1)
    assert transformed_images.problem(store).input_shape == (28, 28, 1)
    assert store.attrs["licence"] == "MIT"


def test_cifar_10_without_a_batch_is_reported(tmp_path):
    with pytest.raises(UserError, match="data_batch_1 is missing"):
        transformed_images.build(Settings("cifar-10"), tmp_path)


@needs_mirror
def test_cifar_10():
    """All channels of a colour image get the same map and keep their order."""
    settings = Settings(
        "cifar-10", realisations=1, tasks=4, train_per_task=5, validation=9990, warm_up_size=2
    )
    raw = MIRROR / "cifar-10-batches-py"
    store = transformed_images.build(settings, raw)
    assert transformed_images.problem(store).input_shape == (32, 32, 3)
    task = transformed_images.task(store, [0], 3)
    assert task.test.inputs.shape == (1, 10, 32, 32, 3)
    first = np.flatnonzero(store.split.values == 2)[0]
    parameters = [store[name].values[0, 1] for name in MAP]
    operator = _affine.interpolation(_affine.matrix(*parameters, 32, 32), 32, 32)
    for channel in range(3):
        grey = store.images.values[first][np.newaxis, ..., channel : channel + 1]
        np.testing.assert_allclose(
            task.test.inputs[0, 0, ..., channel], _affine.warp(grey, operator)[0, ..., 0], atol=1e-6
        )


IRREGULAR = {"schedule": "irregular", "tasks_per_segment": 5, "shortest_segment": 4}
RECURRING = {"concepts": 3, "tasks_per_segment": 4, "shortest_segment": 2, "tasks": 30}


def both(settings):
    """Return a stream with recurring segments, and its twin."""
    return [build(schedule=name, **settings) for name in ("recurring", "recurring-twin")]


def test_a_concept_that_comes_back_has_its_map_again_and_a_twin_a_fresh_one():
    store, twin = both(RECURRING)
    for name in MAP:
        one, other = store[name].values, twin[name].values
        np.testing.assert_array_equal(one[:, [0, 1, 3]], one[:, [2, 4, 6]])
        np.testing.assert_array_equal(one[:, [0, 1, 3]], other[:, [0, 1, 3]])
        assert all(len(set(row)) == len(row) for row in other)
    assert (store.scale[:, 0] != 1).all()  # the warm-up's map would recur in all streams
    np.testing.assert_array_equal(store.train_index, twin.train_index)


def test_a_twin_is_the_stream_until_something_comes_back():
    store, twin = both(RECURRING)
    for realisation in range(3):
        third = int(np.flatnonzero(store["shift"][realisation])[1])
        tasks = [
            [transformed_images.task(one, [realisation], t) for one in (store, twin)]
            for t in range(third + 1)
        ]
        for one, other in tasks[:third]:
            for left, right in zip(one.train + one.test, other.train + other.test, strict=True):
                assert left.tobytes() == right.tobytes()
        assert (tasks[third][0].train.inputs != tasks[third][1].train.inputs).any()
        np.testing.assert_array_equal(tasks[third][0].train.targets, tasks[third][1].train.targets)


def test_a_mixture_has_rows_from_the_map_before_and_the_share_of_river():
    store = build(drift_width=3, train_per_task=1000, tasks=40, **IRREGULAR)
    share, shift = store["new_share"].values, store["shift"].values
    for realisation in range(4):
        first = int(np.flatnonzero(shift[realisation])[0])
        for t in range(first, first + 4):
            task = transformed_images.task(store, [realisation], t)
            for batch, index in (
                (task.train, store.train_index.values[realisation, t]),
                (task.test, np.flatnonzero(store.split.values == 2)),
            ):
                old, new = (warp(store, realisation, k, index) for k in (0, 1))
                is_new = (batch.inputs[0] == new).all(axis=(1, 2, 3))
                assert (is_new | (batch.inputs[0] == old).all(axis=(1, 2, 3))).all()
                assert is_new.sum() in within(len(is_new), share[realisation, t])
    np.testing.assert_array_equal(
        store.train_index, build(train_per_task=1000, tasks=40, **IRREGULAR).train_index
    )


def warp(store, realisation, segment, index):
    """Return the images under the map of a segment."""
    parameters = [store[name].values[realisation, segment] for name in MAP]
    operator = _affine.interpolation(_affine.matrix(*parameters, 8, 8), 8, 8)
    return _affine.warp(store.images.values[index], operator)


def within(number, share):
    """Return the counts that a binomial distribution allows."""
    low, high = scipy.stats.binom(number, share).interval(1 - 1e-4)
    return range(int(low), int(high) + 1)


def test_a_morph_is_under_the_map_between_the_maps():
    store = build(drift_width=3, drift_mode="morph", tasks=40, **IRREGULAR)
    store["new_share"][:] = np.where(store["new_share"] < 1, 0.5, 1)
    first = int(np.flatnonzero(store["shift"][0])[0])
    means = [store[name].values[0, :2].mean() for name in MAP]
    operator = _affine.interpolation(_affine.matrix(*means, 8, 8), 8, 8)
    task = transformed_images.task(store, [0], first)
    expected = _affine.warp(store.images.values[store.train_index.values[0, first]], operator)
    np.testing.assert_allclose(task.train.inputs[0], expected, rtol=0, atol=1e-6)


def test_a_realisation_for_tuning_has_the_rows_of_the_same_number():
    drifts = {"drift_width": 2, "tasks": 12, **IRREGULAR}
    one, other = build(realisations=3, **drifts), build(first_realisation=2, **drifts)
    for t in range(12):
        left = transformed_images.task(one, [2], t).train
        right = transformed_images.task(other, [0], t).train
        np.testing.assert_array_equal(left.inputs, right.inputs)

"""Images under maps that change every few tasks: order, maps, splits, warm-up."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from shiftbench.core.errors import UserError
from shiftbench.data.images import _affine, transformed_images
from shiftbench.data.images.transformed_images import Settings


@functools.cache
def build(**settings):
    return transformed_images.build(Settings(**settings), Path("unused"))


def test_one_map_a_segment_and_none_in_the_first():
    store = build(tasks=7)
    assert store.sizes["segment"] == 3
    np.testing.assert_array_equal(store.segment_of_task, [0, 0, 0, 1, 1, 1, 2])
    np.testing.assert_array_equal(store["shift"].values, [[0, 0, 0, 1, 0, 0, 1]] * 5)
    assert (store.scale[:, 0] == 1).all() and (store.scale[:, 1:] != 1).all()
    assert (store.rotation[:, 0] == 0).all() and (store.translation[:, 0] == 0).all()


def test_maps_follow_their_distributions():
    store = build(realisations=100, tasks=93, train_per_task=1)
    scale, rotation, translation = (
        store[name].values[:, 1:].ravel() for name in ("scale", "rotation", "translation")
    )
    assert scipy.stats.kstest(scale, "norm", (1, 0.3)).pvalue > 1e-3
    assert scale.min() >= transformed_images.SMALLEST_SCALE
    assert scipy.stats.kstest(rotation, "norm", (0, 10)).pvalue > 1e-3
    assert scipy.stats.kstest(np.abs(translation), "beta", (1, 10)).pvalue > 1e-3
    assert 0.47 < (translation > 0).mean() < 0.53


def test_a_tiny_or_negative_scale_is_drawn_again():
    store = build(realisations=20, tasks=30, train_per_task=1, scale_sd=5.0)
    assert store.scale.values.min() >= transformed_images.SMALLEST_SCALE


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
    assert task.train.inputs.strides[0] == 0  # one copy for all repetitions


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


@pytest.mark.skipif(
    "SHIFTBENCH_MIRROR" not in os.environ, reason="needs the real files in SHIFTBENCH_MIRROR"
)
def test_fashion_mnist():
    settings = Settings("fashion-mnist", realisations=2, tasks=4, validation=5000)
    raw = Path(os.environ["SHIFTBENCH_MIRROR"]) / "fashion-mnist"
    store = transformed_images.build(settings, raw)
    task = transformed_images.task(store, [0, 1], 3)
    assert task.train.inputs.shape == (2, 400, 28, 28, 1)
    assert task.test.inputs.shape == (2, 5000, 28, 28, 1)
    assert transformed_images.problem(store).input_shape == (28, 28, 1)
    assert store.attrs["licence"] == "MIT"


def test_cifar_10_without_a_batch_is_reported(tmp_path):
    with pytest.raises(UserError, match="data_batch_1 is missing"):
        transformed_images.build(Settings("cifar-10"), tmp_path)


@pytest.mark.skipif(
    "SHIFTBENCH_MIRROR" not in os.environ, reason="needs the real files in SHIFTBENCH_MIRROR"
)
def test_cifar_10():
    """In colour: the channels are warped alike, and keep their order."""
    settings = Settings(
        "cifar-10", realisations=1, tasks=4, train_per_task=5, validation=9990, warm_up_size=2
    )
    raw = Path(os.environ["SHIFTBENCH_MIRROR"]) / "cifar-10-batches-py"
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

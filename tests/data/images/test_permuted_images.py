"""Permuted images: different bijections, stored as seeds, and the data of a task."""

from __future__ import annotations

import functools
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from shiftbench.config import components
from shiftbench.core.errors import UserError
from shiftbench.data.images import permuted_images
from shiftbench.data.images.permuted_images import Settings
from tests.real_files import MIRROR, needs_mirror


@functools.cache
def build(**settings):
    return permuted_images.build(Settings(**settings), Path("unused"))


def permutations(store) -> np.ndarray:
    """Return the permutations [realisation, task, pixel]."""
    sizes = store.sizes
    return np.array(
        [
            [permuted_images.permutation(store, r, t) for t in range(sizes["task"])]
            for r in range(sizes["realisation"])
        ]
    )


def test_permutations_are_bijections_that_differ_between_tasks_and_realisations():
    result = permutations(build())
    assert result.shape == (5, 10, 64)
    np.testing.assert_array_equal(np.sort(result, axis=2), np.broadcast_to(range(64), result.shape))
    assert len({tuple(order) for order in result.reshape(-1, 64)}) == 50


def test_permutations_are_uniform():
    first = permutations(build(realisations=200, tasks=10))[:, :, 0].ravel()
    counts = np.bincount(first, minlength=64)
    assert abs(counts - 2000 / 64).max() < 5 * np.sqrt(2000 / 64)


def test_permutations_do_not_depend_on_how_many_there_are():
    small, large = build(realisations=2, tasks=3), build(realisations=5, tasks=10)
    np.testing.assert_array_equal(permutations(small), permutations(large)[:2, :3])


def test_later_realisations_are_permutations_that_no_earlier_one_has():
    judged, tuning = build(realisations=5), build(realisations=2, first_realisation=4)
    np.testing.assert_array_equal(tuning.realisation, [4, 5])
    np.testing.assert_array_equal(permutations(tuning)[0], permutations(judged)[4])
    seen = {tuple(order) for order in permutations(judged).reshape(-1, 64)}
    assert not seen & {tuple(order) for order in permutations(tuning)[1]}


def test_tasks_of_a_segment_share_a_permutation():
    store = build(schedule="irregular", tasks_per_segment=3)
    segments = store["shift"].values.cumsum(axis=1)
    for orders, firsts, segment in zip(
        permutations(store), permutations(build()), segments, strict=True
    ):
        np.testing.assert_array_equal(orders, firsts[segment])
    assert 5 < segments[:, -1].sum() < 40


def test_a_permutation_comes_back_but_not_in_the_twin():
    settings = {"tasks": 20, "tasks_per_segment": 2, "concepts": 3, "first_task": "identity"}
    stores = [build(schedule=f"recurring{end}", **settings) for end in ("", "-twin")]
    for store in stores:
        for orders, concept in zip(permutations(store), store["concept"].values, strict=True):
            same = (orders[:, np.newaxis] == orders).all(axis=2)
            np.testing.assert_array_equal(same, concept[:, np.newaxis] == concept)
            np.testing.assert_array_equal(orders[0], np.arange(64))
    for visits, fresh, concept, of_twin in zip(
        *map(permutations, stores), *(store["concept"].values for store in stores), strict=True
    ):
        np.testing.assert_array_equal((visits == fresh).all(axis=1), concept == of_twin)
        assert (concept == 0).sum() > (of_twin == 0).sum() > 0


def test_a_drift_mixes_images_under_both_permutations():
    store = build(schedule="irregular", tasks=30, tasks_per_segment=8, shortest_segment=6,
                  drift_width=4)  # fmt: skip
    plain = store.images.values.reshape(-1, 64) / np.float32(255)
    orders, seen = permutations(build(tasks=30)), []
    for r, t in np.argwhere(store.new_share.values < 1)[:12].tolist():
        segment, share = int(store.segment_of_task[r, t]), float(store.new_share[r, t])
        new, old = orders[r, segment], orders[r, segment - 1]
        inputs = permuted_images.task(store, [r], t).train.inputs[0].reshape(-1, 64)
        is_new, is_old = ((inputs == plain[:1200, of]).all(axis=1) for of in (new, old))
        assert (is_new ^ is_old).all()
        assert abs(is_new.mean() - share) < 5 * np.sqrt(share * (1 - share) / 1200)
        test = permuted_images.test(store, [r], t).inputs[0].reshape(-1, 64)
        assert 0 < (test == plain[1200:, new]).all(axis=1).mean() < 1
        seen.append(share)
    assert len(set(seen)) == 4


def test_permutations_cannot_morph():
    settings = {"tasks_per_segment": 3, "drift_width": 2, "drift_mode": "morph"}
    configured = components.configured("streams", "permuted-images", settings)
    (reason,) = components.unsupported("streams", "permuted-images", asdict(configured))
    assert reason == "no permutation lies between two others; set drift_mode to mixture"
    with pytest.raises(UserError, match="no permutation lies between two others; set drift_mode"):
        build(**settings)


def test_first_task_as_it_is():
    store = build(first_task="identity")
    np.testing.assert_array_equal(permutations(store)[:, 0], [np.arange(64)] * 5)
    np.testing.assert_array_equal(permutations(store)[:, 1:], permutations(build())[:, 1:])


def test_a_task_is_the_whole_training_set_with_its_pixels_permuted():
    store = build()
    train = permuted_images.task(store, [3, 1], 7).train
    assert train.inputs.dtype == np.float32 and train.targets.dtype == np.int32
    assert train.inputs.shape == (2, 1200, 8, 8, 1) and train.mask.all()
    plain = store.images.values[:1200].reshape(1200, 64)
    for s, realisation in enumerate([3, 1]):
        order = permutations(store)[realisation, 7]
        expected = np.array([[image[k] / 255 for k in order] for image in plain], np.float32)
        np.testing.assert_array_equal(train.inputs[s].reshape(1200, 64), expected)
        np.testing.assert_array_equal(train.targets[s], store.label.values[:1200])


def test_test_images_have_the_permutation_of_the_task_asked_for():
    store = build()
    early, late = (permuted_images.test(store, [2], j) for j in (1, 6))
    plain = store.images.values[1200:].reshape(597, 64) / np.float32(255)
    for batch, j in ((early, 1), (late, 6)):
        order = permutations(store)[2, j]
        np.testing.assert_array_equal(batch.inputs.reshape(597, 64), plain[:, order])
        np.testing.assert_array_equal(batch.targets[0], store.label.values[1200:])
    assert permuted_images.task(store, [2], 6).test is None


def test_several_heads_have_their_number_last_and_their_own_labels():
    single, multi = build(), build(heads="multi")
    problem = permuted_images.problem(multi)
    assert (problem.heads, problem.n_outputs, problem.input_shape) == (10, 100, (8, 8, 1))
    assert permuted_images.problem(single).n_outputs == 10
    one = permuted_images.task(single, [0, 2], 4).train
    other = permuted_images.task(multi, [0, 2], 4).train
    assert other.inputs.shape == (2, 1200, 65) and (other.inputs[..., -1] == 4).all()
    np.testing.assert_array_equal(other.inputs[..., :-1].reshape(one.inputs.shape), one.inputs)
    np.testing.assert_array_equal(other.targets, one.targets + 40)
    assert (permuted_images.test(multi, [0], 3).inputs[..., -1] == 3).all()


def test_fewer_training_images_are_drawn_for_each_task():
    store = build(train_per_task=100, first_task="identity")
    assert permuted_images.problem(store).n_train == 100
    train = permuted_images.task(store, [0, 1], 0).train
    assert np.bincount(train.targets[0]).min() >= 9
    assert (train.inputs[0] != train.inputs[1]).any()
    labels = [permuted_images.task(store, [0], t).train.targets for t in (0, 1)]
    assert (labels[0] != labels[1]).any()
    again = build(train_per_task=100, first_task="identity", tasks=2, realisations=1)
    np.testing.assert_array_equal(
        permuted_images.task(again, [0], 0).train.inputs[0], train.inputs[0]
    )


def test_tuning_is_judged_on_validation_images_and_never_on_test_images():
    store = build(validation=200, judge_on="validation")
    task, judged = permuted_images.task(store, [1], 2), permuted_images.test(store, [1], 2)
    assert task.train.inputs.shape[1] == 1000 and judged.inputs.shape[1] == 200
    np.testing.assert_array_equal(task.validation.inputs, judged.inputs)
    blind = store.assign(images=store.images.where(store.split != 2, 0).astype(np.uint8))
    np.testing.assert_array_equal(permuted_images.test(blind, [1], 2).inputs, judged.inputs)
    np.testing.assert_array_equal(permuted_images.task(blind, [1], 2).train.inputs, task.train[0])
    same = build(validation=200)
    assert permuted_images.test(same, [1], 2).inputs.shape[1] == 597


@pytest.mark.parametrize("number", [9, 1101])
def test_more_training_images_than_there_are(number):
    with pytest.raises(UserError, match=f"train_per_task is {number}, but digits allows 10 to"):
        build(train_per_task=number, validation=100)


def test_the_store_holds_every_image_once():
    assert build(realisations=2).nbytes < 1.3 * 1797 * 64 + 10_000


@needs_mirror
def test_mnist():
    settings = Settings("mnist", realisations=2, first_task="identity")
    store = permuted_images.build(settings, MIRROR / "mnist")
    train = permuted_images.task(store, [1], 9).train
    assert train.inputs.shape == (1, 60000, 28, 28, 1)
    np.testing.assert_array_equal(
        np.bincount(train.targets[0]), [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    )
    plain = permuted_images.test(store, [0], 0).inputs[0]
    np.testing.assert_array_equal(plain, store.images.values[60000:] / np.float32(255))

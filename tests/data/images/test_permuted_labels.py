"""Permuted labels: bijections of the classes on the same images, stored as seeds."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.data.images import permuted_labels
from shiftbench.data.images.permuted_labels import Settings


@functools.cache
def build(**settings):
    return permuted_labels.build(Settings(**{"tasks": 8} | settings), Path("unused"))


def permutations(store) -> np.ndarray:
    """Return the permutations [realisation, task, class]."""
    sizes = store.sizes
    return np.array(
        [
            [permuted_labels.permutation(store, r, t) for t in range(sizes["task"])]
            for r in range(sizes["realisation"])
        ]
    )


def test_permutations_are_bijections_that_differ_between_tasks_and_realisations():
    result = permutations(build())
    np.testing.assert_array_equal(np.sort(result, axis=2), np.broadcast_to(range(10), (5, 8, 10)))
    assert len({tuple(order) for order in result.reshape(-1, 10)}) == 40


def test_permutations_are_uniform():
    first = permutations(build(realisations=100, tasks=10))[:, :, 0].ravel()
    counts = np.bincount(first, minlength=10)
    assert abs(counts - 100).max() < 5 * np.sqrt(100)


def test_all_tasks_have_the_same_images_and_other_labels():
    store = build()
    tasks = [permuted_labels.task(store, [3, 1], t) for t in range(8)]
    plain = store.label.values[store.train_rows.values[[3, 1]]]
    labels = permutations(store)[[3, 1]]
    for t, task in enumerate(tasks):
        assert task.train.inputs.dtype == np.float32 and task.train.targets.dtype == np.int32
        assert task.train.inputs.shape == (2, 256, 8, 8, 1) and task.train.mask.all()
        np.testing.assert_array_equal(task.train.inputs, tasks[0].train.inputs)
        np.testing.assert_array_equal(task.test.inputs, tasks[0].test.inputs)
        for s in range(2):
            np.testing.assert_array_equal(task.train.targets[s], labels[s, t][plain[s]])
            of_test = labels[s, t][store.label.values[1200:]]
            np.testing.assert_array_equal(task.test.targets[s], of_test)
    assert len({task.train.targets.tobytes() for task in tasks}) == 8
    images = store.images.values[store.train_rows.values[3]] / np.float32(255)
    np.testing.assert_array_equal(tasks[0].train.inputs[0], images)


def test_images_are_stored_once_and_a_task_takes_a_seed():
    few, many = build(tasks=1), build(tasks=200)
    assert many.nbytes - few.nbytes < 199 * 5 * 50


def test_a_realisation_does_not_depend_on_how_many_there_are():
    small, large = build(realisations=2, tasks=3), build()
    np.testing.assert_array_equal(permutations(small), permutations(large)[:2, :3])
    np.testing.assert_array_equal(small.train_rows, large.train_rows[:2])
    later = build(realisations=1, first_realisation=4)
    np.testing.assert_array_equal(permutations(later)[0], permutations(large)[4])
    np.testing.assert_array_equal(later.train_rows[0], large.train_rows[4])


def test_the_truth_says_what_kind_of_shift_it_is():
    store = build()
    assert store.attrs["shift_kind"] == "concept"
    np.testing.assert_array_equal(store["shift"], [[False, *[True] * 7]] * 5)
    np.testing.assert_array_equal(store.concept, [range(8)] * 5)


def test_tuning_is_judged_on_validation_images_and_never_on_test_images():
    store = build(validation=200, judge_on="validation")
    task = permuted_labels.task(store, [1], 2)
    assert task.validation is None and task.test.inputs.shape[1] == 200
    split = store.split.values
    assert (split[store.train_rows.values] == 0).all() and (split == 1).sum() == 200


@pytest.mark.parametrize("number", [9, 1001])
def test_too_few_or_too_many_training_images_are_refused(number):
    with pytest.raises(
        UserError, match=f"train_per_task is {number}, but digits allows 10 to 1000"
    ):
        build(train_per_task=number, validation=200)

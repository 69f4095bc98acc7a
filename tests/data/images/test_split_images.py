"""Split images: each image once, labels of heads, a single head, padding, standardisation."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.data.images import split_images
from shiftbench.data.images.split_images import Settings
from tests.real_files import MIRROR, needs_mirror


@functools.cache
def build(**settings):
    return split_images.build(Settings(**settings), Path("unused"))


def given(**settings):
    return build(class_order="given", **settings)


def rows(batch, s: int = 0) -> np.ndarray:
    """Return the unmasked rows of a repetition, flattened, with the label first."""
    mine = batch.mask[s]
    flat = batch.inputs[s].reshape(len(mine), -1)
    return np.column_stack([batch.targets[s], flat])[mine]


def lexically(array: np.ndarray) -> np.ndarray:
    return array[np.lexsort(array.T[::-1])]


@pytest.mark.parametrize("order", ["given", "shuffled"])
def test_every_image_of_the_classes_appears_exactly_once(order):
    store = build(class_order=order, heads="single")
    tasks = [split_images.task(store, [2], t).train for t in range(5)]
    result = np.concatenate([rows(train) for train in tasks])
    plain = store.images.values[:1200].reshape(1200, -1) / np.float32(255)
    expected = np.column_stack([store.label.values[:1200], plain])
    np.testing.assert_array_equal(lexically(result), lexically(expected))
    tests = np.concatenate([rows(split_images.test(store, [2], j)) for j in range(5)])
    assert len(tests) == 597


def test_given_order_pairs_neighbours():
    store = given()
    np.testing.assert_array_equal(store.classes, [np.arange(10).reshape(5, 2)] * 5)
    for heads in ("single", "multi"):
        for t in range(5):
            train = split_images.task(given(heads=heads), [0], t).train
            assert set(train.targets[0]) == {2 * t, 2 * t + 1}


def test_shuffled_orders_are_permutations_that_differ():
    classes = build(realisations=6).classes.values.reshape(6, 10)
    np.testing.assert_array_equal(np.sort(classes, axis=1), [np.arange(10)] * 6)
    assert len({tuple(order) for order in classes}) == 6
    few = build(realisations=2, tasks=3, first_realisation=1).classes.values
    np.testing.assert_array_equal(few.reshape(2, 6), classes[1:3, :6])


def test_labels_of_several_heads():
    single, multi = build(heads="single"), build(heads="multi")
    assert split_images.problem(multi).heads == 5
    assert split_images.problem(multi).n_outputs == split_images.problem(single).n_outputs == 10
    assert split_images.problem(single).heads == 1
    for t in range(5):
        one = split_images.task(single, [3, 0], t).train
        other = split_images.task(multi, [3, 0], t).train
        assert (other.inputs[..., -1] == t).all()
        np.testing.assert_array_equal(other.inputs[..., :-1].reshape(one.inputs.shape), one.inputs)
        for s, realisation in enumerate([3, 0]):
            classes = single.classes.values[realisation, t]
            own = other.targets[s] - 2 * t
            assert set(own) == {0, 1}
            np.testing.assert_array_equal(classes[own], one.targets[s])


def test_all_tasks_have_the_rows_of_the_largest_and_the_rest_is_masked():
    store = build()
    largest = store["size"].values.max(axis=(0, 1))
    assert split_images.problem(store).n_train == largest[0]
    for t in range(5):
        train = split_images.task(store, [1, 4], t).train
        assert train.mask.shape == (2, largest[0])
        assert train.mask.sum(axis=1).tolist() == store["size"].values[[1, 4], t, 0].tolist()
        assert split_images.test(store, [1], t).mask.shape == (1, largest[2])
        padding = train.inputs[..., :-1][~train.mask]
        assert (padding == 0).all() and (train.targets // 2 == t).all()
    assert not train.mask.all()


def test_fewer_training_images_are_of_each_class_in_proportion():
    store = build(train_per_task=60)
    train = split_images.task(store, [0], 3).train
    assert train.mask.all() and np.bincount(train.targets[0]).tolist() == [0] * 6 + [30, 30]
    whole = rows(split_images.task(build(), [0], 3).train)
    assert {row.tobytes() for row in rows(train)} <= {row.tobytes() for row in whole}
    capped = given(train_per_task=60)
    one = split_images.task(capped, [0, 1], 0).train
    assert (one.inputs[0] != one.inputs[1]).any()


def test_tuning_is_judged_on_validation_images():
    store = given(validation=200, judge_on="validation")
    task, judged = split_images.task(store, [0], 1), split_images.test(store, [0], 1)
    np.testing.assert_array_equal(task.validation.inputs, judged.inputs)
    assert task.test is None
    assert store["size"].values[0].sum(axis=0).tolist() == [1000, 200, 597]
    seen = {row.tobytes() for row in rows(task.train)} & {row.tobytes() for row in rows(judged)}
    assert not seen
    without = split_images.task(given(), [0], 1)
    assert without.validation is None


def test_z_score():
    store = given(normalisation="z-score", heads="single", validation=100)
    result = np.concatenate([rows(split_images.task(store, [0], t).train) for t in range(5)])
    np.testing.assert_allclose([result[:, 1:].mean(), result[:, 1:].std()], [0, 1], atol=1e-5)
    plain = split_images.test(given(heads="single", validation=100), [0], 2)
    scaled = split_images.test(store, [0], 2)
    expected = (plain.inputs - store["mean"].values) / store["sd"].values
    np.testing.assert_allclose(scaled.inputs[scaled.mask], expected[plain.mask], rtol=1e-5)
    assert (scaled.inputs[~scaled.mask] == 0).all()


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"classes_per_task": 1}, "two classes or more"),
        ({"classes_per_task": 0}, "two classes or more"),
        ({"classes_per_task": 3}, "classes are left over; set tasks to 3"),
        ({"classes_per_task": 11}, "classes are left over"),
        ({"tasks": 6}, "tasks is 6, but there are 5 at most"),
        ({"train_per_task": 1}, "would lack a class"),
        ({"dataset": "cifar-10-100"}, "it must be 10"),
        ({"validation": 2}, "no validation image of class"),
        ({"dataset": "cifar-10"}, "missing"),
    ],
)
def test_tasks_that_cannot_be(settings, reason):
    with pytest.raises(UserError, match=reason):
        build(**settings)


def test_classes_may_be_left_over_on_purpose():
    store = given(classes_per_task=3, tasks=3)
    assert split_images.problem(store).n_outputs == 9
    assert split_images.problem(given(classes_per_task=3, tasks=3, heads="single")).n_outputs == 10


@needs_mirror
def test_split_mnist_has_the_known_counts():
    settings = Settings("mnist", realisations=1, class_order="given", heads="single")
    store = split_images.build(settings, MIRROR / "mnist")
    assert store["size"].values[0, :, 0].tolist() == [12665, 12089, 11263, 12183, 11800]
    assert store["size"].values[0, :, 2].tolist() == [2115, 2042, 1874, 1986, 1983]
    train = split_images.task(store, [0], 0).train
    assert np.bincount(train.targets[train.mask]).tolist() == [5923, 6742]
    assert split_images.problem(store).n_train == 12665


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> Path:
    """Return the raw files of both CIFAR sets in one folder, as in the workflow."""
    folder = tmp_path_factory.mktemp("cifar-10-100")
    for name in ("cifar-10-batches-py", "cifar-100-first50"):
        for file in (MIRROR / name).iterdir():
            (folder / file.name).symlink_to(file)
    return folder


@needs_mirror
def test_split_cifar_10_100_is_the_stream_of_seed_001(both):
    settings = Settings("cifar-10-100", realisations=2, classes_per_task=10, train_per_task=500)
    store = split_images.build(settings, both)
    problem = split_images.problem(store)
    assert (problem.heads, problem.n_outputs, problem.n_tasks) == (6, 60, 6)
    assert problem.input_shape == (32, 32, 3)
    classes = np.sort(store.classes.values.reshape(2, 6, 10), axis=2)
    np.testing.assert_array_equal(classes[:, 0], [np.arange(10)] * 2)
    np.testing.assert_array_equal(np.sort(classes[:, 1:].reshape(2, 50)), [np.arange(10, 60)] * 2)
    assert store["size"].values[0, :, 2].tolist() == [10000] + [500] * 5
    train = split_images.task(store, [1], 3).train
    assert train.inputs.shape == (1, 500, 3073) and set(train.targets[0]) == set(range(30, 40))


def test_a_tenth_of_the_rows_of_a_blurry_task_is_of_other_tasks():
    clear, blurry = (build(heads="single", train_per_task=200, blurry=share) for share in (0, 0.1))
    counts = []
    for t in range(5):
        one, other = (split_images.task(store, [3, 1], t).train for store in (clear, blurry))
        assert one.mask.sum(axis=1).tolist() == other.mask.sum(axis=1).tolist()
        for s, realisation in enumerate([3, 1]):
            classes = blurry.classes.values[realisation, t]
            own = np.isin(other.targets[s], classes) & other.mask[s]
            size = other.mask[s].sum()
            assert size - own.sum() == round(0.1 * size)
            kept = {row.tobytes() for row in rows(one, s)}
            mine = rows(other, s)[own[other.mask[s]]]
            assert {row.tobytes() for row in mine} < kept
            counts.append(set(other.targets[s][~own & other.mask[s]]))
    assert len(set.union(*counts)) == 10  # from all other tasks
    tests = [split_images.test(store, [3], 2) for store in (clear, blurry)]
    np.testing.assert_array_equal(*(test.targets for test in tests))
    assert "blurry" not in clear.attrs


def test_heads_have_no_labels_for_the_classes_of_others():
    (reason,) = split_images.unsupported(Settings(blurry=0.1))
    assert reason.endswith("set heads to single, or blurry to 0")
    assert not [*split_images.unsupported(Settings(blurry=0.1, heads="single"))]

"""A user's images: reading, tasks under each protocol, and one error per mistake."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from shiftbench.cli import main
from shiftbench.config import components
from shiftbench.core.errors import UserError
from shiftbench.data.images import (
    _idx_files,
    _user_arrays,
    image_file,
    permuted_images,
    split_images,
    transformed_image_file,
    transformed_images,
)
from shiftbench.data.images.image_file import Settings

DIGITS = _idx_files.bundled_digits(597)
LEVELS = np.arange(60 * 5 * 4, dtype=np.uint16).reshape(60, 5, 4) % 256
"""Sixty different grey images of 5 x 4 pixels."""

CONFIG = """\
studies:
  animals:
    title: Animals
    streams: {{animals: {{family: image-file, path: animals, {}}}}}
    model: mlp
    methods: [map: [map]]
    metrics: [accuracy]
    seeds: 1
"""
ORIENTATION = 0x112
"""The EXIF tag of the orientation."""


def saved(path: Path, **arrays) -> Path:
    np.savez(path, **{name: np.asarray(array) for name, array in arrays.items()})
    return path


@pytest.fixture
def digits(tmp_path) -> Path:
    """Return a file of scikit-learn's digits with the split of the package's streams."""
    pixels, label, cut = DIGITS.pixels[..., 0], DIGITS.label, DIGITS.n_train
    parts = {"x_train": pixels[:cut], "y_train": label[:cut]}
    return saved(tmp_path / "digits.npz", **parts, x_test=pixels[cut:], y_test=label[cut:])


def pictures(folder: Path, count: int = 4, mode: str = "L", above: str = "") -> Path:
    """Return a folder of pictures of three classes, whose grey level encodes class and number."""
    for number, name in enumerate(("2-cats", "10-dogs", "1-ants")):
        for k in range(count):
            path = folder / above / name / f"{k}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            level = 50 * number + k
            Image.new(mode, (6, 4), level if mode == "L" else (level, 0, 0)).save(path)
    return folder


def build(path: Path, **settings):
    return image_file.build(Settings(path=str(path), **settings), path)


def same_tasks(ours, store, reader, expected, several: bool = True) -> None:
    assert ours.problem(store) == reader.problem(expected)
    for t in range(store.sizes["task"]):
        one, other = ours.task(store, [1, 0], t), reader.task(expected, [1, 0], t)
        batches = [(a, b) for a, b in zip(one, other, strict=True) if a or b]
        if several:
            batches.append((ours.test(store, [1, 0], t), reader.test(expected, [1, 0], t)))
        for mine, theirs in batches:
            for left, right in zip(mine, theirs, strict=True):
                np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(store["shift"], expected["shift"])


@pytest.mark.parametrize(
    ("protocol", "reader", "settings"),
    [
        ("split", split_images, {"heads": "multi"}),
        ("split", split_images, {"heads": "single", "classes_per_task": 3, "tasks": 2}),
        ("split", split_images, {"heads": "single", "class_order": "given", "train_per_task": 50}),
        ("permuted", permuted_images, {"tasks": 3}),
        ("permuted", permuted_images, {"tasks": 2, "heads": "multi", "train_per_task": 30}),
        ("permuted", permuted_images, {"tasks": 2, "first_task": "identity"}),
    ],
)
def test_the_same_images_make_the_same_tasks_as_in_our_own_streams(
    digits, protocol, reader, settings
):
    store = build(digits, protocol=protocol, realisations=2, **settings)
    expected = reader.build(reader.Settings(realisations=2, **settings), Path("unused"))
    same_tasks(image_file, store, reader, expected)


def test_names_in_an_array_are_ordered_as_those_of_folders(tmp_path):
    count = 40
    pixels = np.arange(count * 4, dtype=np.uint8).reshape(count, 2, 2)
    label = np.tile(["cat 2", "cat 10"], count // 2)
    tasks = np.repeat(["10", "2"], count // 2)
    path = saved(tmp_path / "named.npz", images=pixels, labels=label, tasks=tasks)
    store = build(path, protocol="tasks")
    assert store["task_name"].values.tolist() == ["2", "10"]
    assert store["class"].values.tolist() == ["cat 2", "cat 10"]


def test_dark_images_are_read_as_levels_from_0_to_255_if_a_part_or_the_type_says_so(tmp_path):
    dark, label = LEVELS % 17, np.tile([0, 1], 30)
    split = {"x_train": LEVELS, "y_train": label, "x_test": dark, "y_test": label}
    store = build(saved(tmp_path / "split.npz", **split))
    assert (store["images"].values[60:, ..., 0] == dark).all()
    of_type = build(saved(tmp_path / "real.npz", images=dark / 255, labels=label))
    assert of_type["images"].values.max() == 16


def test_copies_of_an_image_are_in_one_part_of_the_split(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (60, 2, 2), np.uint8)
    label = np.arange(60) % 2
    path = saved(
        tmp_path / "twice.npz", images=np.tile(images, (3, 1, 1)), labels=np.tile(label, 3)
    )
    store = build(path, validation=30)
    parts = {}
    for image, part in zip(store["images"].values, store["split"].values, strict=True):
        parts.setdefault(image.tobytes(), set()).add(int(part))
    assert len(parts) == 60 and all(len(of) == 1 for of in parts.values())
    assert set.union(*parts.values()) == {0, 1, 2}


def test_two_images_in_many_copies_are_one_for_training_and_one_for_test(tmp_path):
    two = np.tile(np.array([[[0, 1]], [[2, 3]]], np.uint8), (5, 1, 1))
    images, label = np.concatenate([two, two + 200]), np.repeat([0, 1], 10)
    store = build(saved(tmp_path / "two.npz", images=images, labels=label), test_share=0.5)
    for of_class in (0, 1):
        mine = store["label"].values == of_class
        pairs = zip(store["images"].values[mine], store["split"].values[mine], strict=True)
        parts = {(image.tobytes(), int(part)) for image, part in pairs}
        assert len(parts) == 2 and {part for _, part in parts} == {0, 2}


def test_the_same_images_under_the_same_maps(digits):
    settings = {"realisations": 2, "tasks": 4, "tasks_per_segment": 2, "train_per_task": 40}
    mine = transformed_image_file.Settings(path=str(digits), warm_up_size=100, **settings)
    store = transformed_image_file.build(mine, digits)
    theirs = transformed_images.Settings(validation=0, warm_up_size=100, **settings)
    expected = transformed_images.build(theirs, Path("unused"))
    same_tasks(transformed_image_file, store, transformed_images, expected, several=False)
    one = transformed_image_file.task(store, [0], -1).train
    other = transformed_images.task(expected, [0], -1).train
    np.testing.assert_array_equal(one.inputs, other.inputs)


def test_validation_images_under_maps_are_of_every_class(digits):
    mine = transformed_image_file.Settings(
        path=str(digits), tasks=4, train_per_task=40, validation=100, judge_on="validation"
    )
    judged = transformed_image_file.task(transformed_image_file.build(mine, digits), [0], 0)
    assert judged.validation is None
    assert np.bincount(judged.test.targets[0]).tolist() == pytest.approx([10] * 10, abs=1)


def test_one_task_of_all_images_each_in_one_split(tmp_path):
    label = np.repeat(["b", "a"], 30)
    path = saved(tmp_path / "mine.npz", images=LEVELS.astype(np.uint8), labels=label)
    store = build(path, validation=10, realisations=2)
    task, test = image_file.task(store, [0], 0), image_file.test(store, [0], 0)
    parts = [task.train, task.validation, test]
    assert [batch.mask.sum() for batch in parts] == [38, 10, 12]
    result = np.concatenate([batch.inputs[0] for batch in parts])[..., 0]
    order = np.lexsort(result.reshape(60, -1).T)
    expected = np.float32(LEVELS) / np.float32(255)
    np.testing.assert_array_equal(result[order], expected[np.lexsort(expected.reshape(60, -1).T)])
    assert store["class"].values.tolist() == ["a", "b"]
    np.testing.assert_array_equal(label[store["image"]], store["class"].values[store["label"]])
    assert store.attrs["change"] == "none" and store.attrs["title"] == "mine.npz"
    assert not store["shift"].values.any()
    for batch in parts:
        assert np.bincount(batch.targets[0]).tolist() == [batch.mask.sum() // 2] * 2


def test_a_folder_of_folders(tmp_path):
    store = build(pictures(tmp_path), test_share=0.25, title="Animals", licence="CC0")
    assert store["class"].values.tolist() == ["1-ants", "2-cats", "10-dogs"]
    assert store["images"].shape == (12, 4, 6, 1)
    level = store["images"].values[:, 0, 0, 0]
    np.testing.assert_array_equal(store["label"], np.array([1, 2, 0])[level // 50])
    assert (store.attrs["title"], store.attrs["licence"]) == ("Animals", "CC0")
    assert (store["split"].values == 2).sum() == 3


def test_colours_sizes_and_splits_of_ones_own(tmp_path):
    pictures(tmp_path, 2, "RGB", "train")
    pictures(tmp_path, 1, "L", "test")
    Image.new("L", (9, 9), 7).save(tmp_path / "test/1-ants/other.png")
    with pytest.raises(UserError, match=r"Set size, to which all images are resized"):
        build(tmp_path)
    store = build(tmp_path, size=3)
    assert store["images"].shape == (10, 3, 3, 3)
    assert (store["split"].values == np.repeat([0, 2], [6, 4])).all()
    grey = store["images"].values[-1]
    assert (grey == grey[..., :1]).all()
    assert build(tmp_path, size=3, colour="grey")["images"].shape == (10, 3, 3, 1)


@pytest.mark.parametrize("heads", ["single", "multi"])
def test_tasks_as_they_come(tmp_path, heads):
    for number, name in enumerate(("task-10", "task-9")):
        pictures(tmp_path, 5 - number, above=name)
    store = build(tmp_path, protocol="tasks", heads=heads, test_share=0.3)
    assert store["task_name"].values.tolist() == ["task-9", "task-10"]
    assert image_file.problem(store).heads == (2 if heads == "multi" else 1)
    for t, count in enumerate((12, 15)):
        train, test = image_file.task(store, [3], t).train, image_file.test(store, [3], t)
        assert train.mask.sum() + test.mask.sum() == count
        first = 3 * t if heads == "multi" else 0
        for batch in (train, test):
            assert np.unique(batch.targets[batch.mask]).tolist() == [first, first + 1, first + 2]
            if heads == "multi":
                assert (batch.inputs[..., -1] == t).all()
            of_class = batch.inputs.reshape(*batch.mask.shape, -1)[batch.mask][:, 0] * 255 // 50
            shown = np.array([1, 2, 0])[np.rint(of_class).astype(int)] + first
            np.testing.assert_array_equal(shown, batch.targets[batch.mask])


def test_tasks_of_an_array(tmp_path):
    label, task = np.tile([0, 1], 30), np.repeat([3, 5, 7], 20)
    path = saved(tmp_path / "a.npz", images=LEVELS / 255, labels=label[:, np.newaxis], tasks=task)
    store = build(path, protocol="tasks", train_per_task=10, tasks=2)
    assert store["task_name"].values.tolist() == ["3", "5"]
    np.testing.assert_array_equal(store["images"][..., 0], LEVELS[store["image"]])
    one, other = (image_file.task(store, [r], 1).train for r in (0, 1))
    assert one.mask.sum() == 10 and (one.inputs != other.inputs).any()
    np.testing.assert_array_equal(np.bincount(one.targets[0]), [5, 5])


@pytest.mark.parametrize(
    ("name", "protocol", "message"),
    [
        ("1-ants/a.txt", "plain", "1-ants/a.txt cannot be read: the name of an image"),
        ("a.png", "plain", "a.png is not at CLASS/IMAGE below"),
        ("1-ants/deep/a.png", "plain", "or use image-file with protocol: tasks"),
        ("1-ants/a.png", "tasks", "is not at TASK/CLASS/IMAGE below"),
        ("1-ants/a.png", "tasks", "Move it, or set protocol to plain, split or permuted, if its f"),
        ("train/1-ants/a.png", "plain", "is in no folder train or test, but others are"),
        ("4-bees/.hidden.png", "plain", "4-bees has no image. Put some there"),
    ],
)
def test_files_out_of_place_are_refused_at_a_look(tmp_path, name, protocol, message):
    settings = Settings(path=str(tmp_path), protocol=protocol)
    pictures(tmp_path)
    if protocol == "plain":
        image_file.look(settings, tmp_path)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes((tmp_path / "1-ants/0.png").read_bytes())
    with pytest.raises(UserError, match=re.escape(message)):
        image_file.look(settings, tmp_path)


@pytest.mark.parametrize(
    ("arrays", "settings", "message"),
    [
        ({"images": LEVELS}, {}, "has the arrays images, but must have images, labels; or"),
        ({"images": LEVELS, "labels": [0] * 59}, {}, "labels has the shape (59,), but images has"),
        ({"images": LEVELS, "labels": [0.5] * 60}, {}, "labels are of type float64"),
        ({"images": LEVELS, "labels": [None] * 60}, {}, "labels holds Python objects"),
        ({"images": LEVELS[0], "labels": [0] * 5}, {}, "images has the shape (5, 4)"),
        ({"images": LEVELS % 2, "labels": [0] * 60}, {}, "images are whole numbers from 0 to 1"),
        ({"images": LEVELS % 17, "labels": [0] * 60}, {}, "from 0 to 16, which would be dark"),
        ({"images": LEVELS + 1, "labels": [0] * 60}, {}, "number 12 has levels from 1 to 256"),
        ({"images": LEVELS / 100, "labels": [0] * 60}, {}, "number 5 has levels from"),
        ({"images": LEVELS * np.nan, "labels": [0] * 60}, {}, "number 0 has levels from nan"),
        ({"images": LEVELS, "labels": [7] * 60}, {}, "images of one class, 7"),
        ({"images": LEVELS, "labels": [7] * 59 + [8]}, {}, "class 8 has 1 images, but none for"),
        ({}, {"protocol": "split"}, "2 classes, 2 a task: not two tasks. Set protocol to plain"),
        ({}, {"protocol": "split", "tasks": 2}, "2 classes, 2 a task: 1 tasks, but tasks is 2"),
        ({}, {"protocol": "tasks"}, "but must have images, labels, tasks; or"),
        ({}, {"train_per_task": 1}, "a task would lack some of its 2 classes"),
        ({}, {"judge_on": "validation"}, "Set validation to their number"),
        ({}, {"validation": 60}, "but none for training. Add some, or change validation"),
    ],
)  # fmt: skip
def test_wrong_arrays_and_settings_are_reported(tmp_path, arrays, settings, message):
    arrays = arrays or {"images": LEVELS.astype(np.uint8), "labels": np.tile([0, 1], 30)}
    path = saved(tmp_path / "mine.npz", **arrays)
    with pytest.raises(UserError, match=re.escape(message)):
        build(path, **settings)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (
            {"protocol": "permuted"},
            "protocol permuted needs tasks above 0: permutations have no end",
        ),
        (
            {"tasks": 3},
            "protocol plain does not use tasks; leave tasks out, or set protocol to tas",
        ),
        ({"heads": "multi"}, "protocol plain does not use heads; leave heads out, or set"),
        (
            {"protocol": "tasks", "classes_per_task": 3},
            "protocol tasks does not use classes_per_task; leave classes_per_task out, or set"
            " protocol to split",
        ),
        (
            {"protocol": "permuted", "tasks": 2, "class_order": "given"},
            "protocol permuted does not use class_order; leave class_order out, or set protocol to"
            " split",
        ),
        (
            {"protocol": "split", "first_task": "identity"},
            "protocol split does not use first_task; leave first_task out, or set protocol to perm",
        ),
    ],
)
def test_settings_that_the_protocol_does_not_use_are_refused(
    tmp_path, monkeypatch, capsys, settings, reason
):
    filled = components.check("streams", "image-file", {"path": "animals"} | settings)
    (found,) = components.unsupported("streams", "image-file", filled)
    assert found.startswith(reason)
    pictures(tmp_path / "animals")
    with pytest.raises(UserError, match=f"animals: {re.escape(reason)}"):
        build(tmp_path / "animals", **settings)
    monkeypatch.chdir(tmp_path)
    lines = ", ".join(f"{key}: {value}" for key, value in settings.items())
    (tmp_path / "mine.yaml").write_text(CONFIG.format(lines))
    assert main.main(["check", "mine.yaml"]) == 2
    assert reason in capsys.readouterr().err


def test_settings_that_the_protocol_uses_are_accepted():
    for settings in (
        {},
        {"protocol": "tasks", "tasks": 2, "heads": "multi"},
        {"protocol": "split", "tasks": 2, "classes_per_task": 3, "class_order": "given"},
        {"protocol": "permuted", "tasks": 2, "first_task": "identity"},
    ):
        assert not [*image_file.unsupported(Settings(path="animals", **settings))]


def test_colours_are_not_permuted_and_sizes_agree(tmp_path):
    colours = np.zeros((20, 4, 4, 3), np.uint8)
    path = saved(tmp_path / "a.npz", images=colours, labels=np.tile([0, 1], 10))
    with pytest.raises(UserError, match="Set colour to grey"):
        build(path, protocol="permuted", tasks=2)
    assert build(path, protocol="permuted", tasks=2, colour="grey").sizes["channel"] == 1
    assert build(path, size=2)["images"].shape == (20, 2, 2, 3)
    label = np.tile([0, 1], 10)
    parts = {"train_images": colours, "train_labels": label, "test_labels": label}
    saved(path, **parts, test_images=colours[:, :3])
    with pytest.raises(UserError, match=r"training have the shape \(4, 4, 3\), for test \(3, 4, 3"):
        build(path)


def test_files_that_are_no_images_are_named(tmp_path):
    class Trap:
        def __reduce__(self):
            return Path.touch, (tmp_path / "unpickled",)

    path = tmp_path / "a.npz"
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(UserError, match=r"a\.npz is neither a folder of images nor an \.npz file"):
        build(path)
    saved(path, images=[Trap()] * 4, labels=[0, 1] * 2)
    with pytest.raises(UserError, match="images holds Python objects"):
        build(path)
    assert not (tmp_path / "unpickled").exists()
    folder = pictures(tmp_path / "animals")
    damaged = folder / "2-cats/0.png"
    whole = damaged.read_bytes()
    for content in (whole[:40], b"no picture", b""):
        damaged.write_bytes(content)
        with pytest.raises(UserError, match=r"2-cats/0\.png cannot be read as an image"):
            build(folder)
    Image.fromarray(np.full((4, 6), 4000, np.uint16)).save(damaged)
    with pytest.raises(UserError, match=r"0\.png has levels of kind I;16\. Save it with 8 bits"):
        build(folder)


def test_an_image_that_hides_something_is_refused_and_a_turned_one_is_turned(tmp_path):
    folder = pictures(tmp_path / "animals", count=20)
    file = folder / "2-cats/0.png"
    levels = np.arange(24, dtype=np.uint8).reshape(4, 6)
    frames = [Image.fromarray(levels), Image.fromarray(levels + 100)]
    frames[0].save(file, save_all=True, append_images=frames[1:])
    with pytest.raises(UserError, match=r"0\.png has 2 frames\. Save the one that is meant"):
        build(folder)
    clear = np.dstack([levels, np.where(levels > 5, 255, 0).astype(np.uint8)])
    Image.fromarray(clear, "LA").save(file)
    with pytest.raises(UserError, match=r"0\.png is transparent in places"):
        build(folder)
    Image.fromarray(np.dstack([levels, np.full_like(levels, 255)]), "LA").save(file)
    assert build(folder)["images"].shape[1:] == (4, 6, 1)
    turned = Image.fromarray(np.ascontiguousarray(np.rot90(levels)))
    turned.getexif()[ORIENTATION] = 6  # to be shown rotated to the right
    turned.save(file, exif=turned.getexif())
    shown = build(folder)["images"].values[..., 0]
    assert (shown == levels).all(axis=(1, 2)).sum() == 1


def test_a_small_file_of_huge_arrays_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    path = saved(tmp_path / "a.npz", images=np.zeros((20, 4, 4), np.uint8), labels=[0, 1] * 10)
    monkeypatch.setattr(_user_arrays, "MOST_BYTES", 300)
    with pytest.raises(UserError, match="more than the 3e-07 GB that are read at once"):
        build(path)


def test_a_damaged_array_is_named(tmp_path):
    path = saved(tmp_path / "a.npz", images=LEVELS.astype(np.uint8), labels=np.tile([0, 1], 30))
    content = bytearray(path.read_bytes())
    content[400] ^= 1
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"a\.npz: images is damaged"):
        build(path)

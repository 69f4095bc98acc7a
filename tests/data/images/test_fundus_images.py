"""Photographs of eyes from a folder are read, split, augmented and normalised, or refused."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from PIL import Image

from shiftbench.config import components
from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.data.images import _augment, _fundus, fundus_images
from shiftbench.data.images.fundus_images import Settings
from shiftbench.data.store.raw import MIRROR
from shiftbench.methods.learners import map
from shiftbench.methods.models import convnet
from tests.data.images import fundus_pictures

accuracy = components.load_metric("accuracy")


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    return fundus_pictures.draw(tmp_path_factory.mktemp("raw") / "eyes")


@pytest.fixture(autouse=True)
def no_mirror(monkeypatch):
    monkeypatch.delenv(MIRROR, raising=False)


def build(raw, **settings):
    return fundus_images.build(Settings(**{"size": 16, "realisations": 2} | settings), raw)


def test_photographs_are_shrunk_and_graded_in_the_order_of_the_labels(raw):
    store = build(raw)
    assert store["images"].shape == (40, 16, 16, 3) and store["images"].dtype == np.uint8
    assert store["image"].values[:3].tolist() == ["10_right", "10_left", "11_right"]
    np.testing.assert_array_equal(store["grade"], np.arange(40) % 5)
    np.testing.assert_array_equal(store["label"], np.arange(40) % 5 >= 2)
    with Image.open(raw / "train" / "10_left.png") as picture:
        plain = picture.convert("RGB").resize((16, 16), Image.Resampling.LANCZOS)
    difference = np.asarray(plain).astype(int) - store["images"].values[1]
    assert np.abs(difference).max() <= 2
    # Spots are bright, so the highest grade has more light than the lowest.
    light = store["images"].values[..., 1].mean(axis=(1, 2))
    assert light[4::5].min() > light[0::5].max()


def test_every_photograph_is_in_one_part(raw):
    store = build(raw, validation=10, test_share=0.25)
    rows = np.hstack([store[f"{part}_rows"].values for part in ("train", "validation", "test")])
    np.testing.assert_array_equal(np.sort(rows, axis=1), [np.arange(40)] * 2)
    assert (rows[0] != rows[1]).any()
    assert np.bincount(store["label"].values[store["test_rows"].values[0]]).tolist() == [4, 6]


def test_channels_are_normalised_by_the_training_photographs(raw):
    store = build(raw, copies=0)
    task = fundus_images.task(store, [1], 0)
    np.testing.assert_allclose(task.train.inputs[0].mean((0, 1, 2)), 0, atol=1e-4)
    np.testing.assert_allclose(task.train.inputs[0].std((0, 1, 2)), 1, rtol=1e-4)
    levels = store["images"].values / 255
    train = levels[store["train_rows"].values[1]]
    expected = levels[store["test_rows"].values[1]] - train.mean((0, 1, 2))
    expected /= train.std((0, 1, 2))
    np.testing.assert_allclose(task.test.inputs[0], expected, atol=1e-5)
    assert fundus_images.problem(store).n_train == 32


def test_training_shows_copies_and_tests_do_not(raw):
    store, plain = build(raw, copies=3), build(raw, copies=0)
    task, other = (fundus_images.task(one, [0, 1], 0) for one in (store, plain))
    assert task.train.inputs.shape == (2, 96, 16, 16, 3)
    assert fundus_images.problem(store).n_train == 96
    np.testing.assert_array_equal(task.train.targets, np.repeat(other.train.targets, 3, axis=1))
    np.testing.assert_array_equal(task.test.inputs, other.test.inputs)
    copies = task.train.inputs.reshape(2, 32, 3, -1)
    assert (copies[:, :, 0] != copies[:, :, 1]).any(axis=-1).all()
    row = store["train_rows"].values[1, 5]
    result = _augment.copy(store["images"].values[row], store["copies"].values[1, 5, 2]) / 255
    expected = (result - store["mean"].values[1]) / store["sd"].values[1]
    np.testing.assert_allclose(copies[1, 5, 2], expected.ravel(), atol=1e-5)


def still(**changed):
    """Return parameters that do not change a picture, except for the given ones."""
    kept = {"pad_x": 0, "pad_y": 0, "crop": 1.0, "flip_x": 0, "flip_y": 0, "turn": 0}
    given = dict.fromkeys(_augment.PARAMETERS, 0.5) | kept | changed
    return np.array([given[name] for name in _augment.PARAMETERS], np.float32)


def test_each_parameter_does_what_it_says():
    picture = np.random.default_rng(0).integers(0, 256, (40, 40, 3)).astype(np.uint8)
    np.testing.assert_array_equal(_augment.copy(picture, still()), picture)
    np.testing.assert_array_equal(_augment.copy(picture, still(flip_x=1)), picture[:, ::-1])
    np.testing.assert_array_equal(_augment.copy(picture, still(flip_y=1)), picture[::-1])
    turned = _augment.copy(picture, still(turn=90))
    np.testing.assert_array_equal(turned, np.rot90(picture))
    # A pad of 2 out of 40 pixels on the left, cropped from the left, moves the picture right by 2.
    moved = _augment.copy(picture, still(pad_x=0.05, move_x=0))
    np.testing.assert_array_equal(moved[:, 2:], picture[:, :-2])
    assert not moved[:, :2].any()
    up = _augment.copy(picture, still(pad_y=0.05, move_y=1))
    np.testing.assert_array_equal(up[:-2], picture[2:])
    assert not up[-2:].any()
    larger = _augment.copy(np.full((40, 40, 3), 200, np.uint8), still(crop=1.1))
    assert not larger[0].any() and (larger[3:-3, 3:-3] == 200).all()
    part = Image.fromarray(picture[4:, 4:]).resize((40, 40), Image.Resampling.BILINEAR)
    cut = _augment.copy(picture, still(crop=0.9, place_x=1, place_y=1))
    np.testing.assert_array_equal(cut, np.asarray(part))


def test_copies_are_drawn_from_all_that_the_paper_says():
    drawn = _augment.drawn(4000, seeds.generator(seeds.fold("test", "copies")))
    by_name = dict(zip(_augment.PARAMETERS, drawn.T, strict=True))
    ranges = {"turn": (-180, 180), "crop": (0.9, 1.1), "pad_x": (0, 0.05), "pad_y": (0, 0.05)}
    for name, values in by_name.items():
        low, high = ranges.get(name, (0, 1))
        assert low <= values.min() < low + 0.01 * (high - low)
        assert high - 0.01 * (high - low) < values.max() <= high
        assert values.mean() == pytest.approx((low + high) / 2, abs=0.03 * (high - low))
    assert set(by_name["flip_x"]) == {0, 1}


def test_judged_on_validation_no_test_photograph_appears(raw):
    plain, tuning = build(raw, validation=8), build(raw, validation=8, judge_on="validation")
    whole, task = (fundus_images.task(one, [0], 0) for one in (plain, tuning))
    np.testing.assert_array_equal(task.test.inputs, whole.validation.inputs)
    np.testing.assert_array_equal(task.train.inputs, whole.train.inputs)
    assert task.validation is None and whole.test.mask.shape == (1, 8)


def test_fewer_photographs_are_of_both_classes(raw):
    store = build(raw, images=20)
    assert np.bincount(store["label"].values).tolist() == [8, 12]
    assert set(store["image"].values) < set(build(raw)["image"].values)
    with pytest.raises(UserError, match=r"images is 41, but trainLabels.csv names 40"):
        build(raw, images=41)


def test_the_store_has_a_checksum_of_what_it_read(tmp_path):
    one = build(fundus_pictures.draw(tmp_path / "one"))
    digest = hashlib.sha256()
    for line in (tmp_path / "one" / "trainLabels.csv").read_text().splitlines()[1:]:
        name, level = line.split(",")
        (path,) = (tmp_path / "one" / "train").glob(f"{name}.*")
        digest.update(f"{path.name},{level}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    assert one.attrs["checksum"] == digest.hexdigest()
    other = fundus_pictures.draw(tmp_path / "other")
    fundus_pictures.picture(4, np.random.default_rng(9)).save(other / "train" / "10_left.png")
    assert build(other).attrs["checksum"] != one.attrs["checksum"]


def test_a_mirror_on_this_machine_will_do(raw, tmp_path, monkeypatch):
    fundus_pictures.draw(tmp_path / "mirror" / _fundus.DATASET, folder="photos")
    monkeypatch.setenv(MIRROR, str(tmp_path / "mirror"))
    store = fundus_images.build(
        Settings(size=16, realisations=2, folder="photos"), tmp_path / "nothing"
    )
    np.testing.assert_array_equal(store["images"], build(raw)["images"])


def test_missing_photographs_say_what_to_put_where(tmp_path):
    with pytest.raises(UserError, match=r"no trainLabels.csv .*kaggle.*image,level.*nowhere/train"):
        build(tmp_path / "nowhere")
    place = fundus_pictures.draw(tmp_path / "eyes")
    (place / "train" / "10_left.png").unlink()
    with pytest.raises(UserError, match=r"names the photograph 10_left, .* no 10_left.jpeg"):
        build(place)
    with pytest.raises(UserError, match=r"eyes/pictures has no 10_right.jpeg"):
        build(place, folder="pictures")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name,level\n10_left,0\n", "its columns are name,level, not image,level"),
        ("image,level\n10_left,5\n", "line 2: the level '5' is not 0 to 4"),
        ("image,level\n10_left,\n", "line 2: the level '' is not"),
        ("image,level\n10_left,0\n10_left,1\n", "line 3 names 10_left again"),
        ("", "not what it should be"),
        ("image,level\n10_left,0\n11_right,0\n10_right,1\n11_left,0\n", "of one class only, 0"),
    ],
)
def test_wrong_labels_are_reported(tmp_path, text, reason):
    place = fundus_pictures.draw(tmp_path / "eyes")
    (place / "trainLabels.csv").write_text(text)
    with pytest.raises(UserError, match=reason) as caught:
        build(place, test_share=0.5)
    assert "trainLabels.csv" in str(caught.value)


def test_damaged_photographs_are_reported(tmp_path):
    place = fundus_pictures.draw(tmp_path / "eyes")
    path = place / "train" / "10_right.jpeg"
    for content in (b"<html>moved</html>", path.read_bytes()[:200]):
        path.write_bytes(content)
        with pytest.raises(UserError, match=r"10_right.jpeg cannot be read"):
            build(place)


@pytest.mark.long
def test_a_convnet_learns_to_tell_them_apart(tmp_path):
    """The network sees only augmented copies, as in the harness."""
    place = fundus_pictures.draw(tmp_path / "eyes", number=60)
    store, key = build(place, copies=2), seeds.block(range(2), "test")
    shape, data = fundus_images.problem(store), fundus_images.task(store, [0, 1], 0)
    model = convnet.build(convnet.Settings(filters=(4,)), shape)
    settings = map.Settings(epochs=30, batch_size=16, learning_rate=0.01, importance="none")
    learner = map.build(settings, shape, model)
    state, _ = learner.observe(learner.init(key), data.train, key)
    scored = accuracy.score(learner.predict(state, data.test.inputs, key), data.test)
    chance = (data.test.targets == 1).mean()
    assert scored.mean() > chance + 0.2


def test_pictures_of_one_colour_are_refused(tmp_path):
    place = fundus_pictures.draw(tmp_path / "eyes")
    for path in (place / "train").iterdir():
        Image.new("RGB", (20, 20), (9, 9, 9)).save(path)
    with pytest.raises(UserError, match="of one colour"):
        build(place)

"""Streams of image tasks: proportional splits, and errors for invalid data."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.data import splits
from shiftbench.data.images import _idx_files, _image_tasks
from shiftbench.data.images.permuted_images import Settings, build


def write_mnist(folder: Path, train: np.ndarray, test: np.ndarray) -> Path:
    """Write blank images of 2 x 3 pixels with these labels as the four files of MNIST."""
    for part, label in (("train", train), ("t10k", test)):
        pixels = np.zeros((len(label), 2, 3), np.uint8)
        for kind, array in (("images-idx3", pixels), ("labels-idx1", label.astype(np.uint8))):
            start = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
            path = folder / f"{part}-{kind}-ubyte.gz"
            path.write_bytes(gzip.compress(start + array.tobytes()))
    return folder


def test_a_stratified_draw_has_each_class_in_proportion():
    label = np.repeat([0, 1, 3], [600, 300, 100])
    drawn = splits.stratified(label, 50, np.random.default_rng(1))
    assert np.bincount(label[drawn]).tolist() == [30, 15, 0, 5]
    assert (np.diff(drawn) > 0).all()
    other = splits.stratified(label, 50, np.random.default_rng(2))
    assert (drawn != other).any()
    everything = splits.stratified(label, 1000, np.random.default_rng(3))
    np.testing.assert_array_equal(everything, np.arange(1000))


def test_a_stratified_draw_is_even():
    draws = [
        splits.stratified(np.repeat([0, 1], 10), 10, np.random.default_rng(k)) for k in range(400)
    ]
    counts = np.bincount(np.concatenate(draws), minlength=20)
    assert abs(counts - 200).max() < 5 * np.sqrt(400 / 4)


def test_validation_is_taken_from_training_images_alone():
    images = _idx_files.bundled_digits(597)
    store = _image_tasks.base("digits", images, 100, "test")
    split = store.split.values
    assert np.bincount(split).tolist() == [1100, 100, 597]
    assert (split[1200:] == 2).all() and (split[:1200] < 2).all()
    share = np.bincount(store.label.values[split == 1]) / np.bincount(images.label[:1200])
    np.testing.assert_allclose(share, 1 / 12, atol=0.01)


def test_judging_on_validation_needs_validation_images():
    with pytest.raises(UserError, match="judge_on is validation"):
        build(Settings(judge_on="validation"), Path("unused"))


@pytest.mark.parametrize(("number", "reason"), [(1200, "Lower validation"), (3, "no validation")])
def test_validation_of_a_wrong_size(number, reason):
    with pytest.raises(UserError, match=reason):
        build(Settings(validation=number), Path("unused"))


def test_wrong_labels_are_reported_before_training(tmp_path):
    ten = np.arange(20) % 10
    build(Settings("mnist"), write_mnist(tmp_path, ten, ten))
    with pytest.raises(UserError, match="there is a label 10, but the classes are 0 to 9"):
        build(Settings("mnist"), write_mnist(tmp_path, ten + 1, ten))
    with pytest.raises(UserError, match="there is no train image of class 9"):
        build(Settings("mnist"), write_mnist(tmp_path, ten % 9, ten))
    with pytest.raises(UserError, match="there is no test image of class 0"):
        build(Settings("mnist"), write_mnist(tmp_path, ten, np.arange(1, 10)))
    with pytest.raises(UserError, match="missing"):
        build(Settings("mnist"), tmp_path / "elsewhere")


def test_no_images(tmp_path):
    nothing = np.zeros(0, int)
    with pytest.raises(UserError, match="no train image"):
        build(Settings("mnist"), write_mnist(tmp_path, nothing, np.arange(10)))
    with pytest.raises(UserError, match="no train image"):
        build(Settings("mnist"), write_mnist(tmp_path, nothing, nothing))

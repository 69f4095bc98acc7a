"""Readers of images: correct files, wrong files, and the fixed split of the digits."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.data.images import _idx_files
from tests.real_files import MIRROR, needs_mirror


def write_idx(path: Path, array: np.ndarray, header: bytes | None = None) -> None:
    start = header or bytes([0, 0, 8, array.ndim])
    sizes = np.array(array.shape, ">u4").tobytes()
    path.write_bytes(gzip.compress(start + sizes + array.tobytes()))


@pytest.fixture
def raw(tmp_path) -> Path:
    """Return a tiny data set in MNIST's format: 6 training and 3 test images of 2 x 3 pixels."""
    for part, count in (("train", 6), ("t10k", 3)):
        pixels = np.arange(count * 6, dtype=np.uint8).reshape(count, 2, 3)
        write_idx(tmp_path / f"{part}-images-idx3-ubyte.gz", pixels)
        write_idx(tmp_path / f"{part}-labels-idx1-ubyte.gz", np.arange(count, dtype=np.uint8))
    return tmp_path


def test_idx_set(raw):
    images = _idx_files.idx_set(raw)
    assert images.pixels.shape == (9, 2, 3, 1) and images.n_train == 6
    np.testing.assert_array_equal(images.pixels[1, ..., 0], [[6, 7, 8], [9, 10, 11]])
    np.testing.assert_array_equal(images.label, [0, 1, 2, 3, 4, 5, 0, 1, 2])


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "not what it should be"),
        (lambda path: path.write_bytes(b"<html>moved</html>"), "Not a gzipped file"),
        (lambda path: write_idx(path, np.zeros((6, 2, 3), "f4"), bytes([0, 0, 13, 3])), "start"),
        (lambda path: write_idx(path, np.zeros(6, np.uint8)), "start"),
        (lambda path: write_idx(path, np.zeros((5, 2, 3), "u1")), "6 labels for 5 images"),
        (lambda path: path.write_bytes(gzip.compress(bytes([0, 0, 8, 3, 0]))), "it has 5"),
        (
            lambda path: path.write_bytes(
                gzip.compress(gzip.decompress(path.read_bytes()) + b"more")
            ),
            "promises 52 bytes, it has 56",
        ),
        (lambda path: path.unlink(), "missing"),
    ],
)
def test_wrong_files_are_reported(raw, damage, reason):
    damage(raw / "train-images-idx3-ubyte.gz")
    with pytest.raises(UserError, match=reason) as caught:
        _idx_files.idx_set(raw)
    assert str(raw) in str(caught.value) and "fetch" in str(caught.value)


def test_digits_are_split_by_class_and_always_the_same():
    images = _idx_files.bundled_digits(597)
    assert images.n_train == 1200 and images.pixels.shape == (1797, 8, 8, 1)
    assert images.pixels.max() == 255
    np.testing.assert_array_equal(np.sort(images.source), np.arange(1797))
    train, test = np.bincount(images.label[:1200]), np.bincount(images.label[1200:])
    np.testing.assert_allclose(test / (train + test), 597 / 1797, atol=0.005)
    assert images.source[1200:1205].tolist() == [612, 1436, 1581, 79, 1576]


def test_digits_need_a_sensible_test_size():
    with pytest.raises(UserError, match="test_size is 1795"):
        _idx_files.bundled_digits(1795)


@needs_mirror
@pytest.mark.parametrize("dataset", ["mnist", "fashion-mnist"])
def test_real_files(dataset):
    images = _idx_files.idx_set(MIRROR / dataset)
    assert images.pixels.shape == (70000, 28, 28, 1) and images.n_train == 60000
    assert np.bincount(images.label[60000:]).sum() == 10000
    assert set(images.label) == set(range(10))

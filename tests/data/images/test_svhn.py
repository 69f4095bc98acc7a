"""The reader of SVHN: correct files, wrong files, and a stream."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.io

from shiftbench.core.errors import UserError
from shiftbench.data.images import _svhn, transformed_images
from shiftbench.data.store import raw as raw_files

RNG = np.random.default_rng(0)
TRAIN, TEST = "train_32x32.mat", "test_32x32.mat"


def pictures(number: int) -> np.ndarray:
    return RNG.integers(0, 256, (32, 32, 3, number), np.uint8)


def digits(*values: int) -> np.ndarray:
    return np.array(values, np.uint8)[:, np.newaxis]


def save(path: Path, **variables: np.ndarray) -> None:
    scipy.io.savemat(path, variables, do_compression=True)


@pytest.fixture
def raw(tmp_path) -> Path:
    """Write twelve training and fourteen test images, compressed like the official files."""
    save(tmp_path / TRAIN, X=pictures(12), y=digits(*range(1, 11), 1, 10))
    save(tmp_path / TEST, X=pictures(14), y=digits(10, *range(1, 11), 3, 3, 3))
    return tmp_path


def test_ten_is_zero_and_pictures_stand_upright(raw):
    images = _svhn.read(raw)
    assert images.n_train == 12 and images.pixels.shape == (26, 32, 32, 3)
    assert images.pixels.flags.c_contiguous and images.pixels.dtype == np.uint8
    assert images.label[:12].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 0]
    assert images.label[12] == 0
    plain = scipy.io.loadmat(raw / TEST)["X"]
    np.testing.assert_array_equal(images.pixels[12 + 4, 5, 6], plain[5, 6, :, 4])


def damaged(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[300:400] = bytes(100)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda path: path.unlink(), "missing"),
        (lambda path: path.write_bytes(b""), "not a sound MATLAB file"),
        (lambda path: path.write_bytes(path.read_bytes()[:700]), "not a sound MATLAB file"),
        (lambda path: path.write_text("<html>moved</html>" * 99), "not a sound MATLAB file"),
        (damaged, "not a sound MATLAB file"),
        (lambda path: save(path, X=pictures(2)), "it has no y"),
        (lambda path: save(path, X=pictures(2), y=digits(1)), "not one digit for each of 2"),
        (lambda path: save(path, X=pictures(2), y=digits(1, 11)), "other than 1 to 10"),
        (lambda path: save(path, X=pictures(2) / 255, y=digits(1, 2)), "its X is float64"),
        (lambda path: save(path, X=pictures(2)[..., 0], y=digits(1)), "its X is uint8 32 x 32 x 3"),
    ],
)
def test_wrong_files_are_reported(raw, damage, reason):
    damage(raw / TRAIN)
    with pytest.raises(UserError, match=reason) as caught:
        transformed_images.build(transformed_images.Settings("svhn"), raw)
    assert str(raw / TRAIN) in str(caught.value) and "etch" in str(caught.value)


def test_a_stream_of_house_numbers(raw):
    settings = transformed_images.Settings(
        "svhn", realisations=2, tasks=4, train_per_task=3, validation=5
    )
    store = transformed_images.build(settings, raw)
    assert "non-commercial" in store.attrs["licence"]
    assert transformed_images.problem(store).input_shape == (32, 32, 3)
    task = transformed_images.task(store, [0, 1], 3)
    assert task.train.inputs.shape == (2, 3, 32, 32, 3)
    assert len(task.validation.targets[0]) == 5 and len(task.test.targets[0]) == 9


def test_the_official_files_are_in_the_table():
    files = raw_files.table()["svhn"].files
    assert list(files) == list(_svhn.FILES)
    assert all(file.address.startswith("http://ufldl.stanford.edu/") for file in files.values())

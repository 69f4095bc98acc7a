"""Readers of CIFAR: correct files, files that differ from the table, and malicious pickles."""

from __future__ import annotations

import hashlib
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.data.images import _cifar
from shiftbench.data.store import raw as raw_files
from tests.real_files import MIRROR, needs_mirror


def batch(key: bytes, labels: list[int], start: int) -> bytes:
    data = (np.arange(len(labels) * 3072) + start).astype(np.uint8).reshape(-1, 3072)
    return pickle.dumps({b"data": data, key: labels, b"batch_label": b"tiny"}, protocol=4)


CONTENT = {
    "data_batch_1": batch(b"labels", [3, 1], 0),
    "data_batch_2": batch(b"labels", [9], 5),
    "test_batch": batch(b"labels", [0], 7),
    "train": batch(b"fine_labels", [49, 2], 11),
    "test": batch(b"fine_labels", [4], 13),
}


@pytest.fixture
def raw(tmp_path, monkeypatch) -> Path:
    """Write tiny files of both sets and a table with their checksums; return the folder."""
    files = {}
    for name, content in CONTENT.items():
        (tmp_path / name).write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        files[name] = raw_files.RawFile(digest, len(content), "http://127.0.0.1/")
    table = {name: raw_files.Dataset("Tiny", "CC0", "nobody", files) for name in _cifar.SETS}
    monkeypatch.setattr(raw_files, "table", lambda: table)
    return tmp_path


def test_training_images_come_first_and_the_two_sets_have_labels_of_their_own(raw):
    images = _cifar.read("cifar-10-100", raw)
    assert images.n_train == 5 and images.pixels.shape == (7, 32, 32, 3)
    assert images.pixels.flags.c_contiguous
    assert images.label.tolist() == [3, 1, 9, 59, 12, 0, 14]
    assert _cifar.read("cifar-10", raw).label.tolist() == [3, 1, 9, 0]
    assert _cifar.read("cifar-100", raw).label.tolist() == [49, 2, 4]


def test_a_row_of_a_file_is_the_red_then_the_green_then_the_blue_picture(raw):
    pixels = _cifar.read("cifar-10", raw).pixels
    assert pixels[1, 4, 5].tolist() == [
        (3072 + channel * 1024 + 4 * 32 + 5) % 256 for channel in range(3)
    ]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "its sha256 is"),
        (lambda path: path.write_bytes(CONTENT["test_batch"]), "its sha256 is"),
        (lambda path: path.unlink(), "missing"),
    ],
)
def test_wrong_files_are_reported(raw, damage, reason):
    damage(raw / "data_batch_2")
    with pytest.raises(UserError, match=reason) as caught:
        _cifar.read("cifar-10", raw)
    assert str(raw) in str(caught.value) and "fetch" in str(caught.value)


class Evil:
    def __init__(self, call, *arguments):
        self.call, self.arguments = call, arguments

    def __reduce__(self):
        return self.call, self.arguments


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize("call", [os.mkdir, eval, np.load, np.fromfile, np.ndarray.tofile])
def test_a_pickle_runs_no_code(call, protocol, tmp_path):
    content = pickle.dumps({b"data": Evil(call, str(tmp_path / "made"))}, protocol=protocol)
    with pytest.raises(pickle.UnpicklingError, match="which no array needs"):
        _cifar.unpickled(content)
    assert not list(tmp_path.iterdir())


@needs_mirror
@pytest.mark.parametrize(
    ("dataset", "folder", "files", "key"),
    [
        (
            "cifar-10",
            "cifar-10-batches-py",
            ["data_batch_1", "data_batch_2", "test_batch"],
            b"labels",
        ),
        ("cifar-100", "cifar-100-first50", ["train", "test"], b"fine_labels"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*align should be passed")
def test_pictures_equal_a_plain_reading_of_the_pickles(dataset, folder, files, key):
    images = _cifar.read(dataset, MIRROR / folder)
    start = 0
    for name in files:
        plain = pickle.loads((MIRROR / folder / name).read_bytes(), encoding="bytes")
        some = np.arange(0, len(plain[key]), 500)
        for row in some:
            red, green, blue = plain[b"data"][row].reshape(3, 32, 32)
            np.testing.assert_array_equal(images.pixels[start + row], np.dstack([red, green, blue]))
        stop = start + len(plain[key])
        np.testing.assert_array_equal(images.label[start:stop], plain[key])
        start = stop
    assert start == len(images.label)
    counts = {"cifar-10": (20000, 1000), "cifar-100": (12500, 50)}[dataset]
    assert images.n_train == counts[0]
    assert set(np.bincount(images.label[images.n_train :])) == {counts[1]}

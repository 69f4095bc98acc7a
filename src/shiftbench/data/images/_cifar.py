"""Readers of CIFAR-10 and CIFAR-100: pickled batches of 32 x 32 colour images.

A pickle can run code. So only bytes with the checksum in the table of raw data are unpickled, and
by a reader that makes nothing but arrays and plain containers.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shiftbench.data.images._pictures import Images
from shiftbench.data.store import raw as raw_files


class Source(NamedTuple):
    """Files of one of the two sets, the key of their labels, and the number of the first label."""

    train: tuple[str, ...]
    test: tuple[str, ...]
    key: bytes
    first_label: int = 0


TEN = Source(("data_batch_1", "data_batch_2"), ("test_batch",), b"labels")
HUNDRED = Source(("train",), ("test",), b"fine_labels")
SETS = {
    "cifar-10": (TEN,),
    "cifar-100": (HUNDRED,),
    "cifar-10-100": (TEN, HUNDRED._replace(first_label=10)),
}
ARRAYS = {
    (module, name)
    for module, names in {
        "numpy": ("ndarray", "dtype"),
        "numpy.core.multiarray": ("_reconstruct",),
        "numpy._core.multiarray": ("_reconstruct",),
    }.items()
    for name in names
}
"""The classes and functions of a pickled array, in files of old and of new NumPy."""


def read(dataset: str, raw: Path) -> Images:
    """Read the images [image, 32, 32, 3] of a data set in folder `raw`, official split.

    In cifar-10-100 the labels of CIFAR-100 start at 10, after those of CIFAR-10. UserError if a
    file is missing or not the one in the table.
    """
    train = [_batch(dataset, raw / n, source) for source in SETS[dataset] for n in source.train]
    test = [_batch(dataset, raw / n, source) for source in SETS[dataset] for n in source.test]
    # Concatenation would keep the files' layout, channel by channel.
    pixels = np.ascontiguousarray(np.concatenate([pixels for pixels, _ in train + test]))
    label = np.concatenate([label for _, label in train + test])
    n_train = sum(len(label) for _, label in train)
    return Images(pixels, label, np.arange(len(label)), n_train)


def unpickled(content: bytes) -> Any:
    """Unpickle arrays in plain containers. UnpicklingError for any other content."""
    return _Arrays(io.BytesIO(content), encoding="bytes").load()


class _Arrays(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ARRAYS:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no array needs")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def _batch(dataset: str, path: Path, source: Source) -> tuple[np.ndarray, np.ndarray]:
    """Return pixels [image, y, x, channel] and labels of a file whose rows are red, green, blue."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise raw_files.missing(path) from None
    wanted = raw_files.table()[dataset].files[path.name].sha256
    actual = hashlib.sha256(content).hexdigest()
    if actual != wanted:
        raise raw_files.wrong(path, f"its sha256 is {actual}, not {wanted}")
    batch = unpickled(content)
    pixels = batch[b"data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return pixels, np.array(batch[source.key], np.uint8) + np.uint8(source.first_label)

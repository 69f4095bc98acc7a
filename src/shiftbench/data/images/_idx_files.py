"""Readers of small grey images: idx files (MNIST, Fashion-MNIST) and scikit-learn's digits."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np

from shiftbench.core.errors import UserError
from shiftbench.data.images._pictures import Images
from shiftbench.data.store import raw as raw_files

SPLIT_SEED = 20200101
"""Fixes which of the bundled digits are test images."""


def bundled_digits(test_size: int) -> Images:
    """Return scikit-learn's digits: 1797 images of 8 x 8, levels 0..16 scaled to 0..255.

    They have no official split: `test_size` images, stratified by class, are set apart by a fixed
    seed, the same for all realisations. UserError for a size that leaves too few images.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    levels, label = load_digits(return_X_y=True)
    if not 10 <= test_size <= len(label) - 10:
        raise UserError(
            f"Images digits: test_size is {test_size}, but must leave at least one image a"
            f" class for training and for test: from 10 to {len(label) - 10}."
        )
    train, test = train_test_split(
        np.arange(len(label)), test_size=test_size, stratify=label, random_state=SPLIT_SEED
    )
    source = np.concatenate([np.sort(train), test])
    pixels = np.rint(levels * (255 / 16)).astype(np.uint8).reshape(-1, 8, 8, 1)
    return Images(pixels[source], label[source].astype(np.uint8), source, len(train))


def idx_set(raw: Path) -> Images:
    """Read the four idx files of MNIST or Fashion-MNIST in folder `raw`, official split."""
    parts = {part: _part(raw, part) for part in ("train", "t10k")}
    pixels = np.concatenate([pixels for pixels, _ in parts.values()])[..., np.newaxis]
    label = np.concatenate([label for _, label in parts.values()])
    return Images(pixels, label, np.arange(len(label)), len(parts["train"][1]))


def read_idx(path: Path, dimensions: int) -> np.ndarray:
    """Read the bytes of one gzip-compressed idx file, an array with this number of dimensions.

    Format: two zero bytes, the type (8: unsigned byte), the number of dimensions, each size
    as four bytes (most significant first), then the values. UserError for anything else.
    """
    content = _unpacked(path)
    if content[:4] != bytes([0, 0, 8, dimensions]):
        raise raw_files.wrong(
            path, f"it does not start as an idx file of bytes in {dimensions} dimensions"
        )
    start = 4 + 4 * dimensions
    shape = [int.from_bytes(content[at : at + 4], "big") for at in range(4, start, 4)]
    expected = start + math.prod(shape)
    if len(content) != expected:
        raise raw_files.wrong(path, f"its header promises {expected} bytes, it has {len(content)}")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _part(raw: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    pixels = read_idx(raw / f"{part}-images-idx3-ubyte.gz", 3)
    path = raw / f"{part}-labels-idx1-ubyte.gz"
    label = read_idx(path, 1)
    if len(pixels) != len(label):
        raise raw_files.wrong(path, f"it has {len(label)} labels for {len(pixels)} images")
    return pixels, label


def _unpacked(path: Path) -> bytes:
    try:
        with gzip.open(path) as file:
            return file.read()
    except FileNotFoundError:
        raise raw_files.missing(path) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise raw_files.wrong(path, str(error)) from None

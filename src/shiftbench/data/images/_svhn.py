"""Reader of SVHN's cropped digits: MATLAB files of 32 x 32 colour images of house numbers.

A file has X [y, x, channel, image] bytes and y [image, 1], the digits 1 to 10, where 10 is 0.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import scipy.io

from shiftbench.data.images._pictures import Images
from shiftbench.data.store import raw as raw_files

FILES = ("train_32x32.mat", "test_32x32.mat")
SIZE = (32, 32, 3)
BROKEN = (
    scipy.io.matlab.MatReadError,
    ValueError,
    TypeError,
    KeyError,
    NotImplementedError,
    OSError,
    zlib.error,
)
"""Errors that scipy.io raises for wrong bytes, depending on their position."""


def read(raw: Path) -> Images:
    """Read the images of folder `raw`, official split. UserError if a file is missing or wrong."""
    (train, train_label), (test, test_label) = (_file(raw / name) for name in FILES)
    label = np.concatenate([train_label, test_label])
    pixels = np.concatenate([train, test])
    return Images(pixels, label, np.arange(len(label)), len(train_label))


def _file(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return pixels [image, y, x, channel] and labels [image] of one file."""
    content = _variables(path)
    pixels, digits = content["X"], content["y"]
    if pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[:3] != SIZE:
        shape = " x ".join(map(str, pixels.shape))
        raise raw_files.wrong(
            path, f"its X is {pixels.dtype} {shape}, not bytes 32 x 32 x 3 x images"
        )
    if digits.shape != (pixels.shape[3], 1):
        raise raw_files.wrong(path, f"its y has not one digit for each of {pixels.shape[3]} images")
    if not np.isin(digits, np.arange(1, 11)).all():
        raise raw_files.wrong(path, "its y has numbers other than 1 to 10")
    return np.ascontiguousarray(pixels.transpose(3, 0, 1, 2)), (digits[:, 0] % 10).astype(np.uint8)


def _variables(path: Path) -> dict[str, np.ndarray]:
    """Return X and y as the file has them."""
    if not path.is_file():
        raise raw_files.missing(path)
    try:
        content = scipy.io.loadmat(path, variable_names=["X", "y"])
    except BROKEN as error:
        raise raw_files.wrong(path, f"it is not a sound MATLAB file ({error})") from None
    if lacking := {"X", "y"} - set(content):
        raise raw_files.wrong(path, f"it has no {' and no '.join(sorted(lacking))}")
    return content

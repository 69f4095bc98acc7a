"""Labelled images as they are read, and the resizing of pictures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image


class Images(NamedTuple):
    """Labelled images of a published data set, training images first.

    pixels: [image, y, x, channel] uint8; label: [image] uint8; source: [image], position in the
    original order (training files before test files); n_train: number of training images.
    """

    pixels: np.ndarray
    label: np.ndarray
    source: np.ndarray
    n_train: int


class Pictures(NamedTuple):
    """Labelled images of a user.

    pixels: [image, y, x, channel] uint8; label, task: [image], numbers of the names in classes and
    tasks; test: [image] bool, or None without a split of their own.
    """

    pixels: np.ndarray
    label: np.ndarray
    task: np.ndarray
    test: np.ndarray | None
    classes: list[str]
    tasks: list[str]


def numbered(names: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """Return the unique names in natural order, 2 before 10, and the index of each name."""
    ordered = sorted(sorted(set(names)), key=_by_numbers)
    number = {name: position for position, name in enumerate(ordered)}
    return ordered, np.array([number[name] for name in names], np.int64)


def _by_numbers(name: str) -> list[str | int]:
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def resized(picture: Image.Image, size: int, grey: bool = False) -> np.ndarray:
    """Return the levels [y, x, channel] of a whole picture as a square; size 0 keeps its size."""
    result = picture.convert("L" if grey else "RGB")
    if size:
        result = result.resize((size, size), Image.Resampling.LANCZOS, reducing_gap=3.0)
    return np.asarray(result).reshape(result.height, result.width, -1)

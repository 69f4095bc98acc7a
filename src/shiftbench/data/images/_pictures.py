"""Labelled images as a user brings them, however they are read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from PIL import Image


class Pictures(NamedTuple):
    """Labelled images.

    pixels: [image, y, x, channel] uint8; label, task: [image], numbers of the names in classes and
    tasks; test: [image] bool, or None without a split of their own.
    """

    pixels: np.ndarray
    label: np.ndarray
    task: np.ndarray
    test: np.ndarray | None
    classes: list[str]
    tasks: list[str]


def resized(picture: Image.Image, size: int, grey: bool) -> np.ndarray:
    """Levels [y, x, channel] of a picture; the whole of it becomes a square, unless size is 0."""
    found = picture.convert("L" if grey else "RGB")
    if size:
        found = found.resize((size, size), Image.Resampling.LANCZOS, reducing_gap=3.0)
    return np.asarray(found).reshape(found.height, found.width, -1)

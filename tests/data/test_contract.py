"""Run the contract on the package's streams; those of texts have their own test."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import numpy as np

from shiftbench.contract.streams import *  # noqa: F403
from shiftbench.contract.streams import OTHERWISE, RAW
from tests.data.images import fundus_pictures


@functools.cache
def photographs() -> Path:
    """Return a folder of small photographs."""
    return fundus_pictures.draw(Path(tempfile.mkdtemp()) / "eyes")


@functools.cache
def images() -> Path:
    """Return a file of 60 small images in three classes."""
    file = Path(tempfile.mkdtemp()) / "images.npz"
    levels = np.random.default_rng(0).integers(0, 256, (60, 8, 8), np.uint8)
    np.savez(file, images=levels, labels=np.arange(60) % 3)
    return file


@functools.cache
def table() -> Path:
    """Return a CSV file of 20 rows."""
    file = Path(tempfile.mkdtemp()) / "rows.csv"
    file.write_text("x,y\n" + "".join(f"{row},{row % 7}\n" for row in range(20)))
    return file


# for speed, or because a setting has no default
OTHERWISE |= {
    "fundus-images": {"size": 16},
    "image-file": {"protocol": "permuted", "tasks": 5},
    "table-file": {"target": "y", "order": "shuffled"},
    "transformed-image-file": {"tasks": 6, "train_per_task": 20},
}
RAW |= {
    "fundus-images": photographs,
    "image-file": images,
    "table-file": table,
    "transformed-image-file": images,
}

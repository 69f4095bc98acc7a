"""A user's folder of pictures, by day and class."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image


def write(folder: Path) -> None:
    """Draw two days of bright bars on a dark ground, then a day of dark bars."""
    random = np.random.default_rng(0)
    for day in range(3):
        for kind in ("lying", "standing"):
            (folder / f"day-{day + 1}" / kind).mkdir(parents=True)
            for number in range(30):
                levels = random.integers(0, 60, (16, 16), np.uint8)
                at = random.integers(3, 10)
                levels[at : at + 4] += 180
                levels = 255 - levels if day == 2 else levels
                picture = Image.fromarray(levels.T if kind == "standing" else levels)
                picture.save(folder / f"day-{day + 1}" / kind / f"{number}.png")

"""Small photographs of eyes for tests: a dark disc, with bright spots if diseased."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

SIZE = (60, 48)


def draw(raw: Path, number: int = 40, folder: str = "train") -> Path:
    """Draw photographs with trainLabels.csv in the form of the competition; return the folder."""
    (raw / folder).mkdir(parents=True)
    random, lines = np.random.default_rng(0), ["image,level"]
    for n in range(number):
        name, level = f"{n // 2 + 10}_{'left' if n % 2 else 'right'}", n % 5
        ending = ("jpeg", "png", "jpg")[n % 3]
        picture(level, random).save(raw / folder / f"{name}.{ending}")
        lines.append(f"{name},{level}")
    (raw / "trainLabels.csv").write_text("\n".join(lines) + "\n")
    return raw


def picture(level: int, random: np.random.Generator) -> Image.Image:
    """Draw a reddish disc on black; higher grades have more bright spots."""
    image = Image.new("RGB", SIZE)
    pen = ImageDraw.Draw(image)
    red = int(random.integers(70, 110))
    pen.ellipse((8, 2, 52, 46), fill=(red, 40, 20))
    for _ in range(4 * max(level - 1, 0)):
        x, y = random.integers(16, 42, 2).tolist()
        pen.ellipse((x, y - 6, x + 3, y - 3), fill=(250, 240, 120))
    return image

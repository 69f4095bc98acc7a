"""Random copies of square pictures, as in farquhar2020radial, D.1, for photographs of eyes.

A copy is flipped in both directions, turned, moved by padding and cropping back, then cropped to 90
to 110 % of the size and resized. Areas that no pixel covers are black.
"""

from __future__ import annotations

import numpy as np
from PIL import Image

PARAMETERS = (
    "flip_x", "flip_y", "turn", "pad_x", "pad_y", "move_x", "move_y", "crop", "place_x", "place_y",
)  # fmt: skip
"""flip: 1 or 0; turn: degrees counter-clockwise; pad: share of the size on either side; crop:
remaining share of the size; move, place: 0 is far left or top, 1 far right or bottom."""
LARGEST_PAD = 0.05
CROPS = (0.9, 1.1)


def drawn(copies: int, random: np.random.Generator) -> np.ndarray:
    """Draw the parameters of copies, [copy, parameter] float32."""
    flips = random.integers(0, 2, (copies, 2))
    turn = random.uniform(-180, 180, (copies, 1))
    pads = random.uniform(0, LARGEST_PAD, (copies, 2))
    moves = random.random((copies, 2))
    crop = random.uniform(*CROPS, (copies, 1))
    places = random.random((copies, 2))
    return np.hstack([flips, turn, pads, moves, crop, places]).astype(np.float32)


def copy(picture: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """Return the copy of a picture [size, size, 3] uint8 with these parameters [parameter]."""
    value = dict(zip(PARAMETERS, parameters.tolist(), strict=True))
    size, image = len(picture), Image.fromarray(picture)
    if value["flip_x"]:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    if value["flip_y"]:
        image = image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    image = image.rotate(value["turn"], Image.Resampling.BILINEAR)
    shift = [round(value[f"pad_{axis}"] * size * (2 * value[f"move_{axis}"] - 1)) for axis in "xy"]
    image = _cropped(image, shift, size)
    side = round(value["crop"] * size)
    image = _cropped(image, [round(value[f"place_{axis}"] * (size - side)) for axis in "xy"], side)
    return np.asarray(image.resize((size, size), Image.Resampling.BILINEAR))


def _cropped(picture: Image.Image, corner: list[int], side: int) -> Image.Image:
    """Return a square of the picture, black outside the picture."""
    left, top = corner
    return picture.crop((left, top, left + side, top + side))

"""Random copies of square pictures, as farquhar2020radial, D.1, makes them of photographs of eyes.

Flipped in both directions, turned, moved by padding and cropping back, then cropped to 90 to
110 % of the size and resized. What no pixel covers is black.
"""

from __future__ import annotations

import numpy as np
from PIL import Image

PARAMETERS = (
    "flip_x", "flip_y", "turn", "pad_x", "pad_y", "move_x", "move_y", "crop", "place_x", "place_y",
)  # fmt: skip
"""flip: 1 or 0; turn: degrees counter-clockwise; pad: share of the size on either side; crop:
share of the size that is left; move, place: 0 is far left or top, 1 far right or bottom."""
LARGEST_PAD = 0.05
CROPS = (0.9, 1.1)


def drawn(copies: int, random: np.random.Generator) -> np.ndarray:
    """The parameters of so many copies, [copy, parameter] float32."""
    flips = random.integers(0, 2, (copies, 2))
    turn = random.uniform(-180, 180, (copies, 1))
    pads = random.uniform(0, LARGEST_PAD, (copies, 2))
    moves = random.random((copies, 2))
    crop = random.uniform(*CROPS, (copies, 1))
    places = random.random((copies, 2))
    return np.hstack([flips, turn, pads, moves, crop, places]).astype(np.float32)


def copy(picture: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """The copy of a picture [size, size, 3] uint8 that the parameters [parameter] describe."""
    of = dict(zip(PARAMETERS, parameters.tolist(), strict=True))
    size, made = len(picture), Image.fromarray(picture)
    if of["flip_x"]:
        made = made.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    if of["flip_y"]:
        made = made.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    made = made.rotate(of["turn"], Image.Resampling.BILINEAR)
    moved = [round(of[f"pad_{axis}"] * size * (2 * of[f"move_{axis}"] - 1)) for axis in "xy"]
    made = _cropped(made, moved, size)
    side = round(of["crop"] * size)
    made = _cropped(made, [round(of[f"place_{axis}"] * (size - side)) for axis in "xy"], side)
    return np.asarray(made.resize((size, size), Image.Resampling.BILINEAR))


def _cropped(picture: Image.Image, corner: list[int], side: int) -> Image.Image:
    """A square of the picture; what lies outside of it is black."""
    left, top = corner
    return picture.crop((left, top, left + side, top + side))

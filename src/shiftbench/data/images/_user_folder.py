"""Reader of a folder of images, which are in folders by class.

It has CLASS/IMAGE or SPLIT/CLASS/IMAGE; where its images are in tasks, each of these stands in a
folder of its task. SPLIT is train or test. Tasks and classes are in the order of their names, in
which 2 comes before 10.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from shiftbench.core.errors import UserError
from shiftbench.data.images._pictures import Pictures, resized
from shiftbench.data.store import user_folder

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".pgm", ".ppm", ".tif", ".tiff", ".webp")
GREY_MODES, COLOUR_MODES = {"1", "L", "LA"}, {"P", "PA", "RGB", "RGBA", "CMYK", "YCbCr"}
SPLITS = ("train", "test")


class Places(NamedTuple):
    """Where the pictures of a folder are: task (or ""), split (or ""), class and file of each."""

    task: list[str]
    split: list[str]
    label: list[str]
    files: list[Path]


def look(path: Path, by_task: bool) -> None:
    """UserError where a file or a folder is out of place; no image is read."""
    _places(path, by_task)


def read(path: Path, by_task: bool, size: int, grey: bool) -> Pictures:
    """The images of a folder, each shrunk or stretched to a square of `size`, if that is not 0.

    Colours are kept where an image has some, unless all shall be grey. UserError, with the file,
    for what is no image, out of place, or of another size.
    """
    places = _places(path, by_task)
    classes, label = _numbered(places.label)
    tasks, task = _numbered(places.task)
    test = np.array([split == "test" for split in places.split]) if any(places.split) else None
    levels = [_levels(file, size, grey) for file in places.files]
    return Pictures(_stacked(levels, places.files), label, task, test, classes, tasks)


def _places(path: Path, by_task: bool) -> Places:
    """Where the images are. UserError for a file or a folder that is out of place."""
    files = user_folder.files(path)
    _refuse_empty(path, files)
    rows = [_placed(file.relative_to(path), path, by_task) for file in files]
    places = Places(*([row[place] for row in rows] for place in range(3)), files)
    if len({bool(split) for split in places.split}) > 1:
        file = files[places.split.index("")]
        raise UserError(
            f"{file} is in no folder train or test, but others are. Put all into such folders, or"
            " none."
        )
    return places


def _placed(name: Path, path: Path, by_task: bool) -> tuple[str, str, str]:
    """Task, split and class of an image, from the folders that it is in."""
    if name.suffix.lower() not in ENDINGS:
        raise UserError(
            f"{path / name} is no image that can be read: its name ends in none of"
            f" {', '.join(ENDINGS)}. Take it out."
        )
    *above, label = name.parts[:-1] or ("",)
    split = above.pop() if above and above[-1] in SPLITS else ""
    task = above.pop() if above and by_task else ""
    if above or not label or by_task > bool(task):
        form = "TASK/CLASS/IMAGE" if by_task else "CLASS/IMAGE"
        hint = (
            "" if by_task else ", or use image-file with protocol: tasks, if its folders are tasks"
        )
        raise UserError(
            f"{path / name} is not at {form} below {path} (or in train or test above the class)."
            f" Move it{hint}."
        )
    return task, split, label


def _refuse_empty(path: Path, files: Sequence[Path]) -> None:
    filled = {folder for file in files for folder in file.parents}
    below = (folder for folder in sorted(path.rglob("*")) if folder.is_dir())
    for folder in below:
        hidden = any(part.startswith(".") for part in folder.relative_to(path).parts)
        if folder not in filled and not hidden:
            raise UserError(f"The folder {folder} has no image. Put some there, or take it out.")


def _numbered(names: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """All different names in their order, and the number of each."""
    found = sorted(sorted(set(names)), key=_by_numbers)
    place = {name: number for number, name in enumerate(found)}
    return found, np.array([place[name] for name in names], np.int64)


def _by_numbers(name: str) -> list[str | int]:
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def _levels(file: Path, size: int, grey: bool) -> np.ndarray:
    """An image as levels [y, x, channel]."""
    try:
        with Image.open(file) as picture:
            if picture.mode not in GREY_MODES | COLOUR_MODES:
                raise UserError(
                    f"{file} has levels of kind {picture.mode}. Save it with 8 bits a channel."
                )
            return resized(picture, size, grey or picture.mode in GREY_MODES)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise UserError(
            f"{file} cannot be read as an image: {error}. Put an undamaged copy there, or take it"
            " out."
        ) from None


def _stacked(levels: Sequence[np.ndarray], files: Sequence[Path]) -> np.ndarray:
    """All images as one array; grey ones among colours become grey colours."""
    for (one, first), (other, second) in pairwise(zip(levels, files, strict=True)):
        if one.shape[:2] != other.shape[:2]:
            sizes = [f"{shape[1]} x {shape[0]}" for shape in (one.shape, other.shape)]
            raise UserError(
                f"{second} has {sizes[1]} pixels, but {first} has {sizes[0]}. Set size, to which"
                " all are brought."
            )
    channels = max(one.shape[2] for one in levels)
    shape = *levels[0].shape[:2], channels
    pixels = np.empty((len(levels), *shape), np.uint8)
    for place, one in zip(pixels, levels, strict=True):
        place[:] = one
    return pixels

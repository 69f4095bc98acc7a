"""Reader of a user's folder of images, which are in folders by class.

It has CLASS/IMAGE or SPLIT/CLASS/IMAGE, each in a folder of its task if the images are in tasks.
SPLIT is train or test. Tasks and classes are in the order of their names, in which 2 comes before
10. A photograph is turned as its EXIF orientation says.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageOps

from shiftbench.core.errors import UserError
from shiftbench.data.images._pictures import Pictures, numbered, resized
from shiftbench.data.store import user_folder

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".pgm", ".ppm", ".tif", ".tiff", ".webp")
GREY_MODES, COLOUR_MODES = {"1", "L", "LA"}, {"P", "PA", "RGB", "RGBA", "CMYK", "YCbCr"}
SPLITS = ("train", "test")


class ImageFile(NamedTuple):
    """An image file with its class, and its split and task, each "" if it has none."""

    task: str
    split: str
    label: str
    path: Path


def look(path: Path, by_task: bool) -> None:
    """Raise UserError for a file or a folder in a wrong place; no image is read."""
    _listed(path, by_task)


def read(path: Path, by_task: bool, size: int, grey: bool) -> Pictures:
    """Read the images of a folder, each resized to a square of `size`, if that is not 0.

    Colours stay, unless `grey`. UserError, with the file, for a file that is not an image, in a
    wrong place, or of another size.
    """
    files = _listed(path, by_task)
    classes, label = numbered([file.label for file in files])
    tasks, task = numbered([file.task for file in files])
    has_splits = any(file.split for file in files)
    test = np.array([file.split == "test" for file in files]) if has_splits else None
    paths = [file.path for file in files]
    levels = [_levels(path, size, grey) for path in paths]
    return Pictures(_stacked(levels, paths), label, task, test, classes, tasks)


def _listed(path: Path, by_task: bool) -> list[ImageFile]:
    """List the images. UserError for a file or a folder in a wrong place."""
    paths = user_folder.files(path)
    _refuse_empty(path, paths)
    files = [_image_file(file.relative_to(path), path, by_task) for file in paths]
    without = [file for file in files if not file.split]
    if 0 < len(without) < len(files):
        raise UserError(
            f"{without[0].path} is in no folder train or test, but others are. Put all into such"
            " folders, or none."
        )
    return files


def _image_file(name: Path, path: Path, by_task: bool) -> ImageFile:
    """Return task, split and class of an image, from the folders that it is in."""
    if name.suffix.lower() not in ENDINGS:
        raise UserError(
            f"{path / name} cannot be read: the name of an image ends in one of"
            f" {', '.join(ENDINGS)}. Take it out."
        )
    *above, label = name.parts[:-1] or ("",)
    split = above.pop() if above and above[-1] in SPLITS else ""
    task = above.pop() if above and by_task else ""
    if above or not label or by_task > bool(task):
        form = "TASK/CLASS/IMAGE" if by_task else "CLASS/IMAGE"
        hint = (
            ", or set protocol to plain, split or permuted, if its folders are classes"
            if by_task
            else ", or use image-file with protocol: tasks, if its folders are tasks"
        )
        raise UserError(
            f"{path / name} is not at {form} below {path} (or in train or test above the class)."
            f" Move it{hint}."
        )
    return ImageFile(task, split, label, path / name)


def _refuse_empty(path: Path, files: Sequence[Path]) -> None:
    filled = {folder for file in files for folder in file.parents}
    below = (folder for folder in sorted(path.rglob("*")) if folder.is_dir())
    for folder in below:
        if folder not in filled and not user_folder.is_hidden(folder.relative_to(path)):
            raise UserError(f"The folder {folder} has no image. Put some there, or take it out.")


def _levels(file: Path, size: int, grey: bool) -> np.ndarray:
    """Read an image as levels [y, x, channel]."""
    try:
        with Image.open(file) as picture:
            if picture.mode not in GREY_MODES | COLOUR_MODES:
                raise UserError(
                    f"{file} has levels of kind {picture.mode}. Save it with 8 bits a channel."
                )
            _refuse_hidden(file, picture)
            upright = ImageOps.exif_transpose(picture)
            return resized(upright, size, grey or picture.mode in GREY_MODES)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise UserError(
            f"{file} cannot be read as an image: {error}. Put an undamaged copy there, or take it"
            " out."
        ) from None


def _refuse_hidden(file: Path, picture: Image.Image) -> None:
    """Raise UserError for an image that shows more, or less, than its levels say."""
    frames = getattr(picture, "n_frames", 1)
    if frames > 1:
        raise UserError(f"{file} has {frames} frames. Save the one that is meant.")
    opaque = (255, 255)
    if (
        picture.has_transparency_data
        and picture.convert("RGBA").getchannel("A").getextrema() != opaque
    ):
        raise UserError(f"{file} is transparent in places. Save it on a background.")


def _stacked(levels: Sequence[np.ndarray], files: Sequence[Path]) -> np.ndarray:
    """Return all images as one array; grey images among coloured ones get equal channels."""
    for (image, file), (next_image, next_file) in pairwise(zip(levels, files, strict=True)):
        if image.shape[:2] != next_image.shape[:2]:
            sizes = [f"{shape[1]} x {shape[0]}" for shape in (image.shape, next_image.shape)]
            raise UserError(
                f"{next_file} has {sizes[1]} pixels, but {file} has {sizes[0]}. Set size, to which"
                " all images are resized."
            )
    channels = max(image.shape[2] for image in levels)
    pixels = np.empty((len(levels), *levels[0].shape[:2], channels), np.uint8)
    for target, image in zip(pixels, levels, strict=True):
        target[:] = image
    return pixels

"""Reader of a user's labelled images: a folder of folders by class, or the arrays of an .npz file.

A folder has CLASS/IMAGE or SPLIT/CLASS/IMAGE; where its images are in tasks, each of these stands
in a folder of its task. SPLIT is train or test. Tasks and classes are in the order of their
names, in which 2 comes before 10. Arrays are named as in ARRAYS.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.lib.npyio import NpzFile
from PIL import Image

from shiftbench.errors import UserError
from shiftbench.store import folders

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".pgm", ".ppm", ".tif", ".tiff", ".webp")
GREY_MODES, COLOUR_MODES = {"1", "L", "LA"}, {"P", "PA", "RGB", "RGBA", "CMYK", "YCbCr"}
SPLITS = ("train", "test")
ARRAYS = (
    (("images", "labels", "tasks"),),
    (
        ("train_images", "train_labels", "train_tasks"),
        ("test_images", "test_labels", "test_tasks"),
    ),
    (("x_train", "y_train", "tasks_train"), ("x_test", "y_test", "tasks_test")),
)
"""Names of images, labels and, where they are in tasks, tasks: all together, or split in two."""
PERMIT = "8-bit levels, whole numbers from 0 to 255, or real ones from 0 to 1"


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


class Places(NamedTuple):
    """Where the pictures of a folder are: task (or ""), split (or ""), class and file of each."""

    task: list[str]
    split: list[str]
    label: list[str]
    files: list[Path]


def read(path: Path, by_task: bool, size: int, grey: bool) -> Pictures:
    """The images, each shrunk or stretched to a square of `size`, if that is not 0.

    Grey ones have one channel; colours are kept where an image has some, unless all shall be grey.
    UserError, with the file or the array, for what is no image, of another size, or without a
    class; nothing is unpickled.
    """
    return (_folder if path.is_dir() else _arrays)(path, by_task, size, grey)


def look(path: Path, by_task: bool) -> None:
    """UserError where the names of files and folders, or of arrays, are wrong."""
    if path.is_dir():
        _places(path, by_task)
    else:
        with _opened(path) as arrays:
            _layout(path, arrays.files, by_task)


def _folder(path: Path, by_task: bool, size: int, grey: bool) -> Pictures:
    places = _places(path, by_task)
    classes, label = _numbered(places.label)
    tasks, task = _numbered(places.task)
    test = np.array([split == "test" for split in places.split]) if any(places.split) else None
    levels = [_levels(file, size, grey) for file in places.files]
    return Pictures(_stacked(levels, places.files), label, task, test, classes, tasks)


def _places(path: Path, by_task: bool) -> Places:
    """Where the images are. UserError for a file or a folder that is out of place."""
    files = folders.files(path)
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
        hint = "" if by_task else ", or set protocol to tasks, if its folders are tasks"
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
    found = sorted(set(names), key=_by_numbers)
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
            return _resized(picture, size, grey or picture.mode in GREY_MODES)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise UserError(
            f"{file} cannot be read as an image: {error}. Put an undamaged copy there, or take it"
            " out."
        ) from None


def _resized(picture: Image.Image, size: int, grey: bool) -> np.ndarray:
    """Levels [y, x, channel] of a picture; the whole of it becomes a square, unless size is 0."""
    found = picture.convert("L" if grey else "RGB")
    if size:
        found = found.resize((size, size), Image.Resampling.LANCZOS, reducing_gap=3.0)
    return np.asarray(found).reshape(found.height, found.width, -1)


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


def _arrays(path: Path, by_task: bool, size: int, grey: bool) -> Pictures:
    with _opened(path) as arrays:
        layout = _layout(path, arrays.files, by_task)
        parts = [_part(path, arrays, names[: 2 + by_task]) for names in layout]
    shapes = [images.shape[1:] for images, *_ in parts]
    if len(set(shapes)) > 1:
        raise UserError(
            f"{path}: images for training have the shape {shapes[0]}, for test {shapes[1]}."
        )
    pixels, labels, *tasks = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    classes, label = np.unique(labels, return_inverse=True)
    names, task = np.unique(tasks[0] if by_task else [""] * len(label), return_inverse=True)
    test = np.repeat([False, True], [len(one) for one, *_ in parts]) if len(parts) > 1 else None
    if size or (grey and pixels.shape[3] > 1):
        pixels = np.stack(
            [_resized(_picture(one), size, grey or one.shape[2] == 1) for one in pixels]
        )
    return Pictures(pixels, label, task, test, classes.astype(str).tolist(), names.tolist())


def _picture(levels: np.ndarray) -> Image.Image:
    return Image.fromarray(levels[..., 0] if levels.shape[2] == 1 else levels)


def _opened(path: Path) -> NpzFile:
    """The arrays of a file, to be closed."""
    if not zipfile.is_zipfile(path):
        raise UserError(
            f"{path} is neither a folder of images nor an .npz file. Name such a folder, or write"
            " images and labels with numpy.savez(path, images=..., labels=...)."
        )
    return np.load(path, allow_pickle=False)


def _layout(path: Path, there: Sequence[str], by_task: bool) -> tuple[tuple[str, ...], ...]:
    """The names under which the images are, of ARRAYS."""
    wanted = [[name for part in layout for name in part[: 2 + by_task]] for layout in ARRAYS]
    for layout, names in zip(ARRAYS, wanted, strict=True):
        if set(names) <= set(there):
            return layout
    raise UserError(
        f"{path} has the arrays {', '.join(there) or 'of no name'}, but must have"
        f" {'; or '.join(', '.join(names) for names in wanted)}."
    )


def _part(path: Path, arrays: NpzFile, names: Sequence[str]) -> list[np.ndarray]:
    """Images [n, y, x, channel] uint8, their labels [n] and, where wanted, their tasks [n]."""
    images, *labels = (_array(path, arrays, name) for name in names)
    shape = images.shape
    if images.ndim == 3:
        images = images[..., np.newaxis]
    if images.ndim != 4 or images.shape[3] not in (1, 3) or not images.size:
        raise UserError(
            f"{path}: {names[0]} has the shape {shape}, but must be"
            " [image, y, x] or [image, y, x, channel] with 1 or 3 channels."
        )
    found = [_of_eight_bits(f"{path}: {names[0]}", images)]
    for name, array in zip(names[1:], labels, strict=True):
        flat = array.reshape(len(array), -1) if array.ndim else array.reshape(0, 1)
        if flat.shape != (len(images), 1):
            raise UserError(
                f"{path}: {name} has the shape {array.shape}, but {names[0]} has {len(images)}"
                " images; each needs one."
            )
        if array.dtype.kind not in "buiU":
            raise UserError(
                f"{path}: {name} are of type {array.dtype}, but must be whole numbers or words."
            )
        found.append(flat[:, 0])
    return found


def _array(path: Path, arrays: NpzFile, name: str) -> np.ndarray:
    try:
        return arrays[name]
    except ValueError:
        raise UserError(
            f"{path}: {name} holds Python objects, which are not read. Write it as numbers or words"
            " of one type."
        ) from None
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise UserError(f"{path}: {name} is damaged ({error}). Write the file anew.") from None


def _of_eight_bits(name: str, images: np.ndarray) -> np.ndarray:
    if images.dtype == np.uint8:
        return images
    if images.dtype.kind in "bf":
        low, high, scale = 0, 1, 255
    elif images.dtype.kind in "iu":
        low, high, scale = 0, 255, 1
    else:
        raise UserError(f"{name} are of type {images.dtype}, but must be {PERMIT}.")
    wrong = ~((images >= low) & (images <= high)).all(axis=(1, 2, 3))
    for first in np.flatnonzero(wrong)[:1]:
        raise UserError(
            f"{name} are of type {images.dtype}, and number {first} has levels from"
            f" {images[first].min():g} to {images[first].max():g}, but they must be {PERMIT}."
        )
    return np.rint(images * np.float64(scale)).astype(np.uint8)

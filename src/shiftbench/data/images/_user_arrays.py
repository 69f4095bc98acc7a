"""Reader of a user's images in the arrays of an .npz file; nothing is unpickled."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.lib.npyio import NpzFile
from PIL import Image

from shiftbench.core.errors import UserError
from shiftbench.data.images._pictures import Pictures, numbered, resized

ARRAYS = (
    (("images", "labels", "tasks"),),
    (
        ("train_images", "train_labels", "train_tasks"),
        ("test_images", "test_labels", "test_tasks"),
    ),
    (("x_train", "y_train", "tasks_train"), ("x_test", "y_test", "tasks_test")),
)
"""Names of images, labels and, if wanted, tasks: all together, or split in two."""
PERMIT = "8-bit levels, whole numbers from 0 to 255, or real ones from 0 to 1"
LARGEST_DARK = 127
"""Largest level of whole numbers whose scale is in doubt, as that of 0 to 16 and of 0 to 100 is."""
MOST_BYTES = 4 * 10**9
"""Size of all arrays together, unpacked; a small file can hold far more than memory does."""
BROKEN = (OSError, EOFError, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error)
"""Errors of a file that was cut or changed, such as a version or a cipher that zipfile lacks."""


def look(path: Path, by_task: bool) -> None:
    """Raise UserError for wrong names of arrays; no array is read."""
    with _open(path) as arrays:
        _layout(path, arrays.files, by_task)


def read(path: Path, by_task: bool, size: int, grey: bool) -> Pictures:
    """Read the images of a file, each resized to a square of `size`, if that is not 0.

    Colours stay, unless `grey`. UserError, with the name of the array, for arrays that hold no
    images or labels.
    """
    with _open(path) as arrays:
        layout = _layout(path, arrays.files, by_task)
        parts = [_part(path, arrays, names[: 2 + by_task]) for names in layout]
    _refuse_dark(path, layout[0][0], [images for images, *_ in parts])
    parts = [[_as_bytes(images), *others] for images, *others in parts]
    shapes = [images.shape[1:] for images, *_ in parts]
    if len(set(shapes)) > 1:
        raise UserError(
            f"{path}: images for training have the shape {shapes[0]}, for test {shapes[1]}."
        )
    pixels, labels, *tasks = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    classes, label = _numbered(labels)
    names, task = _numbered(tasks[0]) if by_task else ([""], np.zeros(len(label), np.int64))
    sizes = [len(images) for images, *_ in parts]
    test = np.repeat([False, True], sizes) if len(parts) > 1 else None
    if size or (grey and pixels.shape[3] > 1):
        grey = grey or pixels.shape[3] == 1
        pixels = np.stack([resized(_picture(levels), size, grey) for levels in pixels])
    return Pictures(pixels, label, task, test, classes, names)


def _numbered(names: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return the unique names in their order, as texts, and the index of each name."""
    if names.dtype.kind == "U":
        return numbered(names.tolist())
    different, number = np.unique(names, return_inverse=True)
    return different.astype(str).tolist(), number


def _picture(levels: np.ndarray) -> Image.Image:
    return Image.fromarray(levels[..., 0] if levels.shape[2] == 1 else levels)


def _open(path: Path) -> NpzFile:
    """Open the arrays of a file, which the caller closes."""
    if not zipfile.is_zipfile(path):
        raise UserError(
            f"{path} is neither a folder of images nor an .npz file. Name such a folder, or write"
            " images and labels with numpy.savez(path, images=..., labels=...)."
        )
    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(entry.file_size for entry in packed.infolist())
        if size > MOST_BYTES:
            raise UserError(
                f"{path}: its arrays have {size / 1e9:.1f} GB, more than the"
                f" {MOST_BYTES / 1e9:g} GB that are read at once. Write images as uint8, or as a"
                " folder of image files."
            )
        return np.load(path, allow_pickle=False)
    except ValueError:
        raise UserError(f"{path} is damaged, or no .npz file. Write it again.") from None
    except BROKEN as error:
        raise UserError(f"{path} is damaged ({error}). Write it again.") from None


def _layout(path: Path, arrays: Sequence[str], by_task: bool) -> tuple[tuple[str, ...], ...]:
    """Return the entry of ARRAYS whose names a file has."""
    wanted = [[name for part in layout for name in part[: 2 + by_task]] for layout in ARRAYS]
    for layout, names in zip(ARRAYS, wanted, strict=True):
        if set(names) <= set(arrays):
            return layout
    raise UserError(
        f"{path} has the arrays {', '.join(arrays) or 'of no name'}, but must have"
        f" {'; or '.join(', '.join(names) for names in wanted)}."
    )


def _part(path: Path, arrays: NpzFile, names: Sequence[str]) -> list[np.ndarray]:
    """Return images [n, y, x, channel], labels [n] and, if named, tasks [n]."""
    images, *labels = (_array(path, arrays, name) for name in names)
    shape = images.shape
    if images.ndim == 3:
        images = images[..., np.newaxis]
    if images.ndim != 4 or images.shape[3] not in (1, 3) or not images.size:
        raise UserError(
            f"{path}: {names[0]} has the shape {shape}, but must be"
            " [image, y, x] or [image, y, x, channel] with 1 or 3 channels."
        )
    _refuse_other_levels(f"{path}: {names[0]}", images)
    part = [images]
    for name, array in zip(names[1:], labels, strict=True):
        if array.shape[:1] != (len(images),) or array.size != len(images):
            raise UserError(
                f"{path}: {name} has the shape {array.shape}, but {names[0]} has {len(images)}"
                " images; each needs one."
            )
        if array.dtype.kind not in "buiU":
            raise UserError(
                f"{path}: {name} are of type {array.dtype}, but must be whole numbers or words."
            )
        part.append(array.reshape(-1))
    return part


def _array(path: Path, arrays: NpzFile, name: str) -> np.ndarray:
    try:
        return arrays[name]
    except ValueError:
        raise UserError(
            f"{path}: {name} holds Python objects, which are not read. Write it as numbers or words"
            " of one type."
        ) from None
    except BROKEN as error:
        raise UserError(f"{path}: {name} is damaged ({error}). Write the file again.") from None


def _refuse_other_levels(name: str, images: np.ndarray) -> None:
    if images.dtype.kind not in "biuf":
        raise UserError(f"{name} are of type {images.dtype}, but must be {PERMIT}.")
    low, high = 0, 255 if _is_whole(images) else 1
    wrong = ~((images >= low) & (images <= high)).all(axis=(1, 2, 3))
    for first in np.flatnonzero(wrong)[:1]:
        raise UserError(
            f"{name} are of type {images.dtype}, and number {first} has levels from"
            f" {images[first].min():g} to {images[first].max():g}, but they must be {PERMIT}."
        )


def _refuse_dark(path: Path, name: str, parts: Sequence[np.ndarray]) -> None:
    """Raise UserError for whole numbers that are small: their scale is hardly 0 to 255."""
    largest = max(int(images.max()) for images in parts)
    if all(map(_is_whole, parts)) and 0 < largest <= LARGEST_DARK:
        raise UserError(
            f"{path}: {name} are whole numbers from 0 to {largest}, which would be dark on the"
            f" scale from 0 to 255. Write real numbers from 0 to 1: divide by {largest}, or by the"
            " level that is white if that is larger. Divide by 255 if they are meant to be dark."
        )


def _is_whole(images: np.ndarray) -> bool:
    return images.dtype.kind in "iu"


def _as_bytes(images: np.ndarray) -> np.ndarray:
    if images.dtype == np.uint8:
        return images
    scale = 1 if _is_whole(images) else 255
    return np.rint(images * np.float64(scale)).astype(np.uint8)

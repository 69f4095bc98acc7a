"""Images, labels, splits and attributes that all stores of a user's images have."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt, Lt

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.data import splits
from shiftbench.data.attributes import about
from shiftbench.data.images import _image_tasks, _user_arrays, _user_folder
from shiftbench.data.images._pictures import Pictures
from shiftbench.data.splits import SPLITS

PURPOSES = {"train": "training", "validation": "validation", "test": "test"}


@dataclass(frozen=True, kw_only=True)
class UserImageSettings:
    """The settings that every stream of a user's images has."""

    path: str
    """The folder or the .npz file, relative to the file that names it."""
    size: Annotated[int, Ge(0)] = 0
    """Height and width in pixels to which all images are resized; 0: images keep their size, which
    must be the same for all."""
    colour: Literal["kept", "grey"] = "kept"
    """kept: colours, if there are any, stay. grey: they become grey."""
    sha256: str = ""
    """Checksum of the file, or of a folder: the checksum of the lines that sha256sum prints for its
    files, sorted by name. Empty: unchecked."""
    title: str = ""
    """What the images are; empty: the name of the file or folder."""
    licence: str = "not stated"
    """Licence of the images, which the store carries."""
    citation: str = "not stated"
    """Whom to cite for the images."""
    test_share: Annotated[float, Gt(0), Lt(1)] = 0.2
    """Share of the images of each class (and task) that are for test, the same for all
    realisations. Without effect on data with their own test images."""
    validation: Annotated[int, Ge(0)] = 0
    """Number of training images, of all tasks together, that are set apart for validation."""
    judge_on: Literal["test", "validation"] = "test"
    """Images on which learners are judged; validation is for tuning, which never sees test
    images."""


def source(settings: UserImageSettings) -> str:
    """Return the name of the folder or file of the images, for messages."""
    return Path(settings.path).resolve().name


def look(path: Path, by_task: bool) -> None:
    """Raise UserError for wrong names of files and folders, or of arrays."""
    _reader(path).look(path, by_task)


def read(settings: UserImageSettings, raw: Path, by_task: bool) -> tuple[Pictures, np.ndarray]:
    """Return the pictures with a split, training pictures first, and the position each had [image].

    Without a split of their own a share of each class (of each task) is for test. UserError if
    there is one class only, or a class without an image for training or for test.
    """
    pictures = _reader(raw).read(raw, by_task, settings.size, settings.colour == "grey")
    if len(pictures.classes) < 2:
        raise UserError(
            f"{source(settings)} has images of one class, {pictures.classes[0]}, so nothing can be"
            " told apart. Add images of another."
        )
    cell = _cell(pictures)
    test = pictures.test
    if test is None:
        random = seeds.generator(seeds.fold("image-file", "test"))
        test = _drawn(pictures.pixels, cell, round(settings.test_share * len(cell)), random)
    _refuse_lacking(settings, pictures, cell[~test], PURPOSES["train"], "test_share")
    _refuse_lacking(settings, pictures, cell[test], PURPOSES["test"], "test_share")
    position = np.argsort(test, kind="stable")
    arrays = {name: getattr(pictures, name)[position] for name in ("pixels", "label", "task")}
    return pictures._replace(test=test[position], **arrays), position


def with_validation(
    settings: UserImageSettings, pictures: Pictures, taken_from: str = "train"
) -> np.ndarray:
    """Return the split of each image, a position in SPLITS, with validation drawn from another.

    UserError if learners are judged on validation and it is empty, or a class has no image left.
    """
    assert pictures.test is not None
    name = source(settings)
    _image_tasks.refuse_nothing_to_judge_on(name, settings.validation, settings.judge_on)
    split = np.where(pictures.test, SPLITS.index("test"), SPLITS.index("train")).astype(np.uint8)
    if settings.validation:
        cell, rows = _cell(pictures), np.flatnonzero(split == SPLITS.index(taken_from))
        random = seeds.generator(seeds.fold("image-file", "validation"))
        number = min(settings.validation, len(rows))
        chosen = _drawn(pictures.pixels[rows], cell[rows], number, random)
        split[rows[chosen]] = SPLITS.index("validation")
        for part in (taken_from, "validation"):
            cells = cell[split == SPLITS.index(part)]
            _refuse_lacking(settings, pictures, cells, PURPOSES[part], "validation")
    return split


def base(
    settings: UserImageSettings, pictures: Pictures, position: np.ndarray, split: np.ndarray
) -> xr.Dataset:
    """Return images, labels and splits, with the names of the classes.

    position: [image] position in the source; split: [image] position in SPLITS.
    """
    attrs = {
        "title": settings.title or source(settings),
        "licence": settings.licence,
        "citation": settings.citation,
        "classes": len(pictures.classes),
        "judge_on": settings.judge_on,
    }
    label = pictures.label.astype(np.min_scalar_type(len(pictures.classes)))
    store = _image_tasks.labelled(pictures.pixels, label, split, position, attrs)
    names = np.array(pictures.classes, str)
    return store.assign_coords({"class": ("class", names, about("name of the class"))})


def _reader(path: Path) -> ModuleType:
    return _user_folder if path.is_dir() else _user_arrays


def _drawn(
    pixels: np.ndarray, cell: np.ndarray, number: int, random: np.random.Generator
) -> np.ndarray:
    """Draw about so many images [image] bool, of each cell in proportion.

    All copies of an image are drawn or none, or else a learner would be judged on an image that it
    was trained on. Exception: if all images of a class of a task are copies of one image, the
    copies are split.
    """
    first: dict[bytes, int] = {}
    digests = (hashlib.sha256(image.tobytes()).digest() for image in pixels)
    original = np.array([first.setdefault(one, place) for place, one in enumerate(digests)])
    place = np.arange(len(cell))
    single = np.bincount(cell, original == place) < 2
    original = np.where(single[cell], place, original)
    images = np.unique(original)
    share = round(number * len(images) / len(cell))
    return np.isin(original, images[splits.stratified(cell[images], share, random)])


def _cell(pictures: Pictures) -> np.ndarray:
    """Return a number for each class of each task [image]."""
    return pictures.task * len(pictures.classes) + pictures.label


def _refuse_lacking(
    settings: UserImageSettings, pictures: Pictures, cells: np.ndarray, split: str, key: str
) -> None:
    """Raise UserError for a class of a task that has images, but none among these cells."""
    for cell in np.setdiff1d(_cell(pictures), cells)[:1]:
        task, label = divmod(int(cell), len(pictures.classes))
        of_task = f" of task {pictures.tasks[task]}" if pictures.tasks[task] else ""
        number = int((_cell(pictures) == cell).sum())
        raise UserError(
            f"{source(settings)}: class {pictures.classes[label]}{of_task} has {number} images,"
            f" but none for {split}. Add some, or change {key}."
        )

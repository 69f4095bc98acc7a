"""What all stores of a user's images have: images, labels, splits, and what is said of them."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Literal, Protocol

import numpy as np
import xarray as xr

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.data import splits
from shiftbench.data.attributes import about
from shiftbench.data.images import _image_tasks, _user_arrays, _user_folder
from shiftbench.data.images._pictures import Pictures
from shiftbench.data.splits import SPLITS

PURPOSES = {"train": "training", "validation": "validation", "test": "test"}


class Own(Protocol):
    """The settings that a stream of a user's images has."""

    @property
    def path(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def colour(self) -> Literal["kept", "grey"]: ...
    @property
    def title(self) -> str: ...
    @property
    def licence(self) -> str: ...
    @property
    def citation(self) -> str: ...
    @property
    def test_share(self) -> float: ...
    @property
    def validation(self) -> int: ...
    @property
    def judge_on(self) -> Literal["test", "validation"]: ...


def source(settings: Own) -> str:
    """What the images are called in messages: the name of their folder or file."""
    return Path(settings.path).resolve().name


def look(path: Path, by_task: bool) -> None:
    """UserError where the names of files and folders, or of arrays, are wrong."""
    _reader(path).look(path, by_task)


def read(settings: Own, raw: Path, by_task: bool) -> tuple[Pictures, np.ndarray]:
    """The pictures, with a split, those for training first; the place that each had [image].

    Without a split of their own a share of each class (of each task) is for test. UserError where
    there is one class, or one without an image for training or for test.
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
        chosen = splits.stratified(cell, round(settings.test_share * len(cell)), random)
        test = np.isin(np.arange(len(cell)), chosen)
    _refuse_lacking(settings, pictures, cell[~test], PURPOSES["train"], "test_share")
    _refuse_lacking(settings, pictures, cell[test], PURPOSES["test"], "test_share")
    place = np.argsort(test, kind="stable")
    arrays = {name: getattr(pictures, name)[place] for name in ("pixels", "label", "task")}
    return pictures._replace(test=test[place], **arrays), place


def with_validation(settings: Own, pictures: Pictures, of: str = "train") -> np.ndarray:
    """The split of each image, a place in SPLITS; validation is drawn from one of the others.

    UserError where learners are to be judged on none, or a class has no image left.
    """
    assert pictures.test is not None
    name = source(settings)
    _image_tasks.refuse_nothing_to_judge_on(name, settings.validation, settings.judge_on)
    split = np.where(pictures.test, SPLITS.index("test"), SPLITS.index("train")).astype(np.uint8)
    if settings.validation:
        cell, rows = _cell(pictures), np.flatnonzero(split == SPLITS.index(of))
        random = seeds.generator(seeds.fold("image-file", "validation"))
        number = min(settings.validation, len(rows))
        chosen = rows[splits.stratified(cell[rows], number, random)]
        split[chosen] = SPLITS.index("validation")
        for part in (of, "validation"):
            there = cell[split == SPLITS.index(part)]
            _refuse_lacking(settings, pictures, there, PURPOSES[part], "validation")
    return split


def base(settings: Own, pictures: Pictures, place: np.ndarray, split: np.ndarray) -> xr.Dataset:
    """Images, labels and splits, with the names of the classes; place: position in the source."""
    meanings = {"flag_values": [0, 1, 2], "flag_meanings": " ".join(SPLITS)}
    level = about("level of the channel, 255 is the brightest")
    label = pictures.label.astype(np.min_scalar_type(len(pictures.classes)))
    height, width = pictures.pixels.shape[1:3]
    return xr.Dataset(
        {
            "images": (("image", "y", "x", "channel"), pictures.pixels, level),
            "label": ("image", label, about("class")),
            "split": ("image", split, about("split") | meanings),
        },
        coords={
            "image": ("image", place, about("position in the original data")),
            "y": ("y", np.arange(height), about("row from the top", "pixel")),
            "x": ("x", np.arange(width), about("column from the left", "pixel")),
            "class": ("class", np.array(pictures.classes, str), about("name of the class")),
        },
        attrs={
            "title": settings.title or source(settings),
            "licence": settings.licence,
            "citation": settings.citation,
            "classes": len(pictures.classes),
            "judge_on": settings.judge_on,
        },
    )


def _reader(path: Path) -> ModuleType:
    return _user_folder if path.is_dir() else _user_arrays


def _cell(pictures: Pictures) -> np.ndarray:
    """A number for each class of each task [image]."""
    return pictures.task * len(pictures.classes) + pictures.label


def _refuse_lacking(
    settings: Own, pictures: Pictures, there: np.ndarray, split: str, key: str
) -> None:
    """UserError for a class, of a task, that has images, but none among these cells."""
    for cell in np.setdiff1d(_cell(pictures), there)[:1]:
        task, label = divmod(int(cell), len(pictures.classes))
        of_task = f" of task {pictures.tasks[task]}" if pictures.tasks[task] else ""
        number = int((_cell(pictures) == cell).sum())
        raise UserError(
            f"{source(settings)}: class {pictures.classes[label]}{of_task} has {number} images,"
            f" but none for {split}. Add some, or change {key}."
        )

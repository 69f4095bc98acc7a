"""Photographs of eyes, healthy or diseased, from a user's own folder: one task.

Source: farquhar2020radial, 4.1 and D.1, on the photographs of the Kaggle competition on diabetic
retinopathy. Grades 0 and 1 are healthy, 2 to 4 diseased. Photographs are shrunk to a square of
`size`, and training shows random copies of them (`_augment`). Each channel is normalised by
the training photographs of the realisation, before they are copied.

The paper draws new copies in every epoch, here there are `copies` of each photograph. Its own
split is not published; here each realisation has a random one, with the classes in proportion. The
two eyes of a patient may be on different sides of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt, Lt

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Problem, Task
from shiftbench.data import splits
from shiftbench.data.attributes import about
from shiftbench.data.images import _augment, _fundus
from shiftbench.data.splits import SPLITS, Parts
from shiftbench.data.store import raw as raw_data

GIVES = "image"
HAS = ("tests",)
VARIES = {
    "splits into training and test photographs": True,
    "copies of training photographs": {"not copies": (0,)},
}


@dataclass(frozen=True)
class Settings:
    dataset: Literal["diabetic-retinopathy"] = "diabetic-retinopathy"
    """The photographs; an entry of the table of raw data, which nothing fetches. Put
    trainLabels.csv into data/raw/diabetic-retinopathy."""
    folder: str = "train"
    """The folder below that which has the photographs, NAME.jpeg, .jpg or .png."""
    realisations: Annotated[int, Ge(1)] = 5
    """Number of splits, with copies of their own; seed s uses split s modulo this."""
    first_realisation: Annotated[int, Ge(0)] = 0
    """Number of the first split, so that tuning can see others than those that are judged."""
    size: Annotated[int, Ge(8)] = 256
    """Height and width in pixels; the paper has 512, and 256 for its study of robustness."""
    images: Annotated[int, Ge(0)] = 0
    """So many photographs, of each class in proportion, drawn once for all realisations; 0 is
    all. One of 256 x 256 pixels takes 0.2 MB, and 0.8 MB in each batch."""
    copies: Annotated[int, Ge(0)] = 1
    """Random copies of each training photograph, which are shown in its place; 0 shows itself."""
    test_share: Annotated[float, Gt(0), Lt(1)] = 0.2
    """Share of the photographs that are for test; the paper has 10,000 of 61,620."""
    validation: Annotated[int, Ge(0)] = 0
    """So many of the training photographs are set apart for validation; the paper has 7,026."""
    judge_on: Literal["test", "validation"] = "test"
    """The photographs on which learners are judged: validation is for tuning, which never sees
    those for test."""


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """The store: images [image, y, x, channel], label and grade [image], and of each realisation
    the rows of its split, the parameters of its copies, and how channels are normalised.

    UserError where photographs are missing or damaged, or a split would have one class.
    """
    photographs = _chosen(settings, _fundus.listed(Path(raw), settings.folder))
    label = (photographs.grade >= _fundus.DISEASED).astype(np.int32)
    pixels = _fundus.pixels(photographs.paths, settings.size)
    last = settings.first_realisation + settings.realisations
    numbers = list(range(settings.first_realisation, last))
    parts = []
    for number in numbers:
        split = splits.at_random("fundus-images", label, settings.test_share, number)
        part = splits.with_validation(settings, split, label, number)
        splits.refuse_useless(f"{Path(raw) / _fundus.LABELS}, split {number}", part, label)
        parts.append(part)
    store = _images_part(settings, photographs, pixels, label)
    store = store.merge(splits.stored(parts, numbers, len(label)))
    return store.merge(_drawn_part(settings, pixels, parts, numbers))


def problem(store: xr.Dataset) -> Problem:
    """Two classes of images."""
    shape = tuple(store.sizes[name] for name in ("y", "x", "channel"))
    n_train = store.sizes["train"] * max(store.sizes["copy"], 1)
    return Problem("classification", shape, 2, n_train, store.sizes["task"])


def task(store: xr.Dataset, realisations: Sequence[int], t: int) -> Task:
    """The photographs of each split: inputs [S, n, y, x, channel] float32, targets [S, n] int32.

    Training photographs come as their copies. Where the store says to judge on validation, those
    are the test data, and there are no others.
    """
    train = _batch(store, realisations, "train", copied=store.sizes["copy"] > 0)
    validation, test = (
        _batch(store, realisations, part) if store.sizes[part] else None for part in SPLITS[1:]
    )
    if store.attrs["judge_on"] == "validation":
        validation, test = None, validation
    return Task(train, validation, test)


def _chosen(settings: Settings, photographs: _fundus.Listed) -> _fundus.Listed:
    """As many of the photographs as the settings want."""
    there = len(photographs.paths)
    if settings.images > there:
        raise UserError(
            f"Stream fundus-images: images is {settings.images}, but {_fundus.LABELS} names"
            f" {there}. Lower images; 0 takes all."
        )
    if not settings.images:
        return photographs
    random = seeds.generator(seeds.fold("fundus-images", "images"))
    rows = splits.drawn(photographs.grade, settings.images, random)
    return _fundus.Listed([photographs.paths[row] for row in rows], photographs.grade[rows])


def _images_part(
    settings: Settings, photographs: _fundus.Listed, pixels: np.ndarray, label: np.ndarray
) -> xr.Dataset:
    """What all realisations share."""
    entry = raw_data.table()[settings.dataset]
    names = np.array([path.stem for path in photographs.paths])
    size = np.arange(settings.size)
    return xr.Dataset(
        {
            "images": (
                ("image", "y", "x", "channel"),
                pixels,
                about("level, 255 is the brightest"),
            ),
            "label": ("image", label, about("eye: 1 is diseased, 0 is healthy")),
            "grade": ("image", photographs.grade, about("grade of the disease, 0 is none")),
            "shift": (
                ("realisation", "task"),
                np.zeros((settings.realisations, 1), bool),
                about("whether the distribution changed before this task"),
            ),
        },
        coords={
            "image": ("image", names, about("name of the photograph")),
            "y": ("y", size, about("row from the top", "pixel")),
            "x": ("x", size, about("column from the left", "pixel")),
            "channel": ("channel", ["red", "green", "blue"], about("colour")),
            "task": ("task", [0], about("number of the task")),
        },
        attrs={
            "title": f"{entry.title}; healthy or diseased",
            "licence": entry.licence,
            "citation": entry.citation,
            "checksum": _fundus.checksum(photographs),
            "judge_on": settings.judge_on,
            "change": "none",
            "warm_up": 0,
        },
    )


def _drawn_part(
    settings: Settings, pixels: np.ndarray, parts: Sequence[Parts], numbers: Sequence[int]
) -> xr.Dataset:
    """The parameters of all copies, and mean and standard deviation of the channels."""
    copies = [
        _augment.drawn(
            len(split.train) * settings.copies,
            seeds.generator(seeds.fold("fundus-images", "copies", number)),
        ).reshape(len(split.train), settings.copies, len(_augment.PARAMETERS))
        for split, number in zip(parts, numbers, strict=True)
    ]
    mean, sd = _moments(pixels, parts)
    by_copy, by_channel = ("realisation", "train", "copy", "parameter"), ("realisation", "channel")
    text = "of the channel over the training photographs, 1 is the brightest"
    return xr.Dataset(
        {
            "copies": (by_copy, np.stack(copies), about("what makes a copy of a photograph")),
            "mean": (by_channel, mean, about(f"mean {text}")),
            "sd": (by_channel, sd, about(f"standard deviation {text}")),
        },
        coords={"parameter": ("parameter", list(_augment.PARAMETERS), about("of a copy"))},
    )


def _moments(pixels: np.ndarray, parts: Sequence[Parts]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation [realisation, channel] float32 of the training photographs."""
    each = [(one.mean((0, 1)), np.square(one / 255.0).mean((0, 1))) for one in pixels]
    first, second = (np.stack(values) for values in zip(*each, strict=True))
    mean = np.stack([first[split.train].mean(axis=0) for split in parts]) / 255
    square = np.stack([second[split.train].mean(axis=0) for split in parts])
    sd = np.sqrt(np.maximum(square - mean**2, 0))
    if not (sd > 1e-6).all():
        raise UserError("Stream fundus-images: all training photographs are of one colour.")
    return mean.astype(np.float32), sd.astype(np.float32)


def _batch(
    store: xr.Dataset, realisations: Sequence[int], part: str, copied: bool = False
) -> Batch:
    numbers = list(realisations)
    rows, images = store[f"{part}_rows"].values[numbers], store["images"].values
    each = store.sizes["copy"] if copied else 1
    inputs = np.empty((*rows.shape, each, *images.shape[1:]), np.float32)
    for filled, own, number in zip(inputs, rows, numbers, strict=True):
        for i, row in enumerate(own):
            if copied:
                of_row = store["copies"].values[number, i]
                filled[i] = [_augment.copy(images[row], one) for one in of_row]
            else:
                filled[i] = images[row]
    inputs = inputs.reshape(len(rows), -1, *images.shape[1:])
    inputs /= 255
    for name, change in (("mean", np.subtract), ("sd", np.divide)):
        change(inputs, store[name].values[numbers][:, None, None, None], out=inputs)
    targets = np.repeat(store["label"].values[rows], each, axis=1)
    return Batch(inputs, targets, np.ones(targets.shape, bool))

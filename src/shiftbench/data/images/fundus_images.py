"""Photographs of eyes, healthy or diseased, from a user's own folder: one task.

Source: farquhar2020radial, 4.1 and D.1, on the photographs of the Kaggle competition on diabetic
retinopathy. Grades 0 and 1 are healthy, 2 to 4 diseased. Photographs are shrunk to a square of
`size`, and training shows random copies of them (`_augment`). Each channel is normalised by the
training photographs of the realisation, before they are copied.

The paper draws new copies in every epoch; here each photograph has `copies` fixed copies. The
paper's split is not published; here each realisation has a random split, with the classes in
proportion. The two eyes of a patient may be on different sides of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt, Lt

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Problem, Task
from shiftbench.data import splits
from shiftbench.data.attributes import about
from shiftbench.data.images import _augment, _fundus
from shiftbench.data.splits import SPLITS, Parts
from shiftbench.data.store import raw as raw_files

FACTS = Facts(
    gives=("image", "tests"),
    varies={
        "splits into training and test photographs": True,
        "copies of training photographs": {"not copies": (0,)},
    },
)


@dataclass(frozen=True)
class Settings:
    dataset: Literal["diabetic-retinopathy"] = "diabetic-retinopathy"
    """Name of the photographs in the table of raw data. Nothing fetches them: put trainLabels.csv
    into data/raw/diabetic-retinopathy."""
    folder: str = "train"
    """The folder below data/raw/diabetic-retinopathy that has the photographs, NAME.jpeg, .jpg or
    .png."""
    realisations: Annotated[int, Ge(1)] = 5
    """Number of splits, each with its own copies; seed s uses split s modulo this."""
    first_realisation: Annotated[int, Ge(0)] = 0
    """Number of the first split, so that tuning can see splits that are not judged. Training
    photographs of these include test photographs of judged splits."""
    size: Annotated[int, Ge(8)] = 256
    """Height and width in pixels; the paper has 512, and 256 for its study of robustness."""
    images: Annotated[int, Ge(0)] = 0
    """Number of photographs, of each class in proportion, drawn once for all realisations; 0: all.
    One of 256 x 256 pixels takes 0.2 MB, and 0.8 MB in each batch."""
    copies: Annotated[int, Ge(0)] = 1
    """Number of random copies of each training photograph, shown in its place; 0: the photograph
    itself is shown."""
    test_share: Annotated[float, Gt(0), Lt(1)] = 0.2
    """Share of the photographs that are for test; the paper has 10,000 of 61,620."""
    validation: Annotated[int, Ge(0)] = 0
    """Number of training photographs that are set apart for validation; the paper has 7,026."""
    judge_on: Literal["test", "validation"] = "test"
    """Photographs on which learners are judged; validation is for tuning, which never sees test
    photographs of its own split."""


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """Return the store: images [image, y, x, channel], label and grade [image].

    Each realisation has the rows of its split, the parameters of its copies, and mean and standard
    deviation of the channels. UserError if photographs are missing or damaged, or a split would
    have one class.
    """
    photographs = _chosen(settings, _fundus.listed(Path(raw), settings.folder))
    label = (photographs.grade >= _fundus.DISEASED).astype(np.int32)
    pixels = _fundus.pixels(photographs.paths, settings.size)
    drawn = partial(splits.at_random, "fundus-images", label, settings.test_share)
    parts = splits.parts(settings, drawn, label, str(Path(raw) / _fundus.LABELS))
    store = _images_part(settings, photographs, pixels, label)
    store = store.merge(splits.stored(parts, len(label)))
    return store.merge(_copies_part(settings, pixels, parts))


def problem(store: xr.Dataset) -> Problem:
    """Return classification of images into two classes."""
    shape = tuple(store.sizes[name] for name in ("y", "x", "channel"))
    n_train = store.sizes["train"] * max(store.sizes["copy"], 1)
    return Problem("classification", shape, 2, n_train, store.sizes["task"])


def task(store: xr.Dataset, realisations: Sequence[int], t: int) -> Task:
    """Return the photographs: inputs [S, n, y, x, channel] float32, targets [S, n] int32.

    Training photographs come as their copies. If the store judges on validation, the validation
    photographs are the test data.
    """
    train = _batch(store, realisations, "train", copied=store.sizes["copy"] > 0)
    validation, test = (
        _batch(store, realisations, part) if store.sizes[part] else None for part in SPLITS[1:]
    )
    return splits.judged(store, Task(train, validation, test))


def _chosen(settings: Settings, photographs: _fundus.Listed) -> _fundus.Listed:
    """Draw the number of photographs that the settings want."""
    listed = len(photographs.paths)
    if settings.images > listed:
        raise UserError(
            f"Stream fundus-images: images is {settings.images}, but {_fundus.LABELS} names"
            f" {listed}. Lower images; 0 takes all."
        )
    if not settings.images:
        return photographs
    random = seeds.generator(seeds.fold("fundus-images", "images"))
    rows = splits.drawn(photographs.grade, settings.images, random)
    return _fundus.Listed([photographs.paths[row] for row in rows], photographs.grade[rows])


def _images_part(
    settings: Settings, photographs: _fundus.Listed, pixels: np.ndarray, label: np.ndarray
) -> xr.Dataset:
    """Return the part of the store that all realisations share."""
    entry = raw_files.table()[settings.dataset]
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
            **entry.attributes(),
            "title": f"{entry.title}; healthy or diseased",
            "checksum": _fundus.checksum(photographs),
            "judge_on": settings.judge_on,
            "change": "none",
            "warm_up": 0,
        },
    )


def _copies_part(settings: Settings, pixels: np.ndarray, parts: Mapping[int, Parts]) -> xr.Dataset:
    """Return the parameters of all copies, and mean and standard deviation of the channels."""
    copies = [
        _augment.drawn(
            len(split.train) * settings.copies,
            seeds.generator(seeds.fold("fundus-images", "copies", number)),
        ).reshape(len(split.train), settings.copies, len(_augment.PARAMETERS))
        for number, split in parts.items()
    ]
    mean, sd = _moments(pixels, list(parts.values()))
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
    """Return mean and standard deviation [realisation, channel] float32 of training photographs."""
    each = [(image.mean((0, 1)), np.square(image / 255.0).mean((0, 1))) for image in pixels]
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
    for target, own, number in zip(inputs, rows, numbers, strict=True):
        for i, row in enumerate(own):
            if copied:
                parameters = store["copies"].values[number, i]
                target[i] = [_augment.copy(images[row], values) for values in parameters]
            else:
                target[i] = images[row]
    inputs = inputs.reshape(len(rows), -1, *images.shape[1:])
    inputs /= 255
    for name, change in (("mean", np.subtract), ("sd", np.divide)):
        change(inputs, store[name].values[numbers][:, None, None, None], out=inputs)
    targets = np.repeat(store["label"].values[rows], each, axis=1)
    return Batch(inputs, targets, np.ones(targets.shape, bool))

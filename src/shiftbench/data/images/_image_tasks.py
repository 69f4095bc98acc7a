"""What streams of several tasks on one set of labelled images share.

The store has every image once, its split, and a seed for each task of each realisation;
a task is a choice of rows, in an order of pixels, with the labels that it gives them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch
from shiftbench.data.attributes import about
from shiftbench.data.images import _cifar, _idx_files, _svhn
from shiftbench.data.splits import SPLITS, stratified
from shiftbench.data.store import raw as raw_data

CLASSES = {
    "digits": 10,
    "mnist": 10,
    "fashion-mnist": 10,
    "cifar-10": 10,
    "cifar-100": 50,
    "cifar-10-100": 60,
    "svhn": 10,
}
"""Number of classes of each data set; of CIFAR-100 the mirror has the first 50."""


class Part(NamedTuple):
    """One repetition's share of a batch.

    rows: [n] positions of images; targets: [n] labels; order: [pixels] which pixel of the
    image comes at each place, None for the image as it is.
    """

    rows: np.ndarray
    targets: np.ndarray
    order: np.ndarray | None = None


def read(dataset: str, raw: Path, test_size: int) -> _idx_files.Images:
    """The images of a data set. UserError where the raw files are wrong, or a label is."""
    if dataset in _cifar.SETS:
        images = _cifar.read(dataset, raw)
    elif dataset == "svhn":
        images = _svhn.read(raw)
    else:
        images = _idx_files.read(dataset, raw, test_size)
    highest = images.label.max(initial=0)
    if highest >= CLASSES[dataset]:
        raise UserError(
            f"Images {dataset} in {raw}: there is a label {highest}, but the classes"
            f" are 0 to {CLASSES[dataset] - 1}. Delete the raw files and fetch them again."
        )
    return images


def base(dataset: str, images: _idx_files.Images, validation: int, judge_on: str) -> xr.Dataset:
    """The part of the store that all realisations share: images, labels, splits.

    `validation` training images are set apart, the same for all tasks and realisations and
    of each class in proportion. UserError where a split has no image of some class.
    """
    split = _split(dataset, images, validation, judge_on)
    entry = raw_data.table()[dataset]
    meanings = {"flag_values": [0, 1, 2], "flag_meanings": " ".join(SPLITS)}
    grey_level = about("level of the channel, 255 is the brightest")
    return xr.Dataset(
        {
            "images": (("image", "y", "x", "channel"), images.pixels, grey_level),
            "label": ("image", images.label, about("class")),
            "split": ("image", split, about("split") | meanings),
        },
        coords={
            "image": ("image", images.source, about("position in the original data")),
            "y": ("y", np.arange(images.pixels.shape[1]), about("row from the top", "pixel")),
            "x": ("x", np.arange(images.pixels.shape[2]), about("column from the left", "pixel")),
        },
        attrs={
            "title": entry.title,
            "licence": entry.licence,
            "citation": entry.citation,
            "classes": CLASSES[dataset],
            "warm_up": 0,
            "judge_on": judge_on,
        },
    )


def drawn(family: str, first: int, realisations: int, tasks: int) -> xr.Dataset:
    """The seed of each task in realisations `first` and following; every task is a shift."""
    numbers = np.arange(first, first + realisations)
    drawn = np.array([[seeds.fold(family, int(r), t) for t in range(tasks)] for r in numbers])
    shift = np.tile(np.arange(tasks) > 0, (realisations, 1))
    by_task = ("realisation", "task")
    return xr.Dataset(
        {
            "seed": ((*by_task, "word"), drawn, about("seed of all draws for the task")),
            "shift": (by_task, shift, about("whether the distribution changed before this task")),
        },
        coords={
            "realisation": ("realisation", numbers, about("number of the realisation")),
            "task": ("task", np.arange(tasks), about("number of the task")),
        },
    )


def batch(store: xr.Dataset, parts: Sequence[Part], length: int, head: int | None) -> Batch:
    """The rows of each repetition, as float32 in [0, 1] or standardised as the store says.

    length: rows of the batch; those beyond a part's own are masked, in its first class.
    head: None, or the number that follows the pixels of each row.
    """
    images = store["images"].values
    pixels = images.reshape(len(images), -1)
    size, width = pixels.shape[1], pixels.shape[1] + (head is not None)
    inputs = np.zeros((len(parts), length, width), np.float32)
    inputs[..., size:] = head or 0
    targets = np.empty(inputs.shape[:2], np.int32)
    mask = np.zeros(targets.shape, bool)
    for s, (rows, labels, order) in enumerate(parts):
        _fill(store, inputs[s, : len(rows), :size], pixels[rows], order)
        targets[s] = labels[0]
        targets[s, : len(rows)] = labels
        mask[s, : len(rows)] = True
    if head is None:
        inputs = inputs.reshape(*targets.shape, *images.shape[1:])
    return Batch(inputs, targets, mask)


def refuse_nothing_to_judge_on(dataset: str, validation: int, judge_on: str) -> None:
    """UserError where learners are to be judged on validation images, and there are none."""
    if judge_on == "validation" and not validation:
        raise UserError(
            f"Images {dataset}: judge_on is validation, but no images are set apart for it."
            " Set validation to their number."
        )


def _fill(
    store: xr.Dataset, target: np.ndarray, levels: np.ndarray, order: np.ndarray | None
) -> None:
    """Grey levels [n, pixels] as numbers, written into target [n, pixels]."""
    if order is not None:
        levels = np.take(levels, order, axis=1)  # a quarter of the time of levels[:, order]
    np.divide(levels, np.float32(255), out=target)
    if "mean" in store:
        repeats = target.shape[1] // store.sizes["channel"]
        target -= np.tile(store["mean"].values, repeats)
        target /= np.tile(store["sd"].values, repeats)


def _split(dataset: str, images: _idx_files.Images, validation: int, judge_on: str) -> np.ndarray:
    """The split of each image [image], as a position in SPLITS."""
    refuse_nothing_to_judge_on(dataset, validation, judge_on)
    if 0 < images.n_train <= validation:
        raise UserError(
            f"Images {dataset}: validation is {validation}, but there are {images.n_train}"
            " training images. Lower validation."
        )
    split = np.where(np.arange(len(images.label)) < images.n_train, 0, 2).astype(np.uint8)
    random = seeds.generator(seeds.fold("image-tasks", "validation", dataset))
    split[stratified(images.label[: images.n_train], validation, random)] = 1
    _check_classes(dataset, images.label, split, SPLITS if validation else ("train", "test"))
    return split


def _check_classes(dataset: str, label: np.ndarray, split: np.ndarray, used: Sequence[str]) -> None:
    for name in used:
        counts = np.bincount(label[split == SPLITS.index(name)], minlength=CLASSES[dataset])
        for empty in np.flatnonzero(counts == 0)[:1]:
            raise UserError(
                f"Images {dataset}: there is no {name} image of class {empty}, so a task would"
                " be empty or have one class. Change validation or test_size, or fetch the raw"
                " files again."
            )

"""Store and tasks of streams that show one set of labelled images in several tasks.

The store has every image once, its split, and a seed for each task of each realisation. A task is a
choice of rows, in an order of pixels, with the labels that it gives them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Problem, Task
from shiftbench.data.attributes import about
from shiftbench.data.images import _cifar, _idx_files, _svhn
from shiftbench.data.images._pictures import Images
from shiftbench.data.splits import SPLITS, stratified
from shiftbench.data.store import raw as raw_files

CLASSES = {
    "digits": 10,
    "mnist": 10,
    "fashion-mnist": 10,
    "cifar-10": 10,
    "cifar-100": 50,
    "cifar-10-100": 60,
    "svhn": 10,
}
"""Number of classes of each data set; the mirror has the first 50 classes of CIFAR-100."""


class Part(NamedTuple):
    """The share of one repetition in a batch.

    rows: [n] positions of images; targets: [n] labels; order: which pixel of the image comes at
    each position, [pixels] or, where images differ in it, [n, pixels]; None for the image as it is.
    """

    rows: np.ndarray
    targets: np.ndarray
    order: np.ndarray | None = None


Choice = Callable[[xr.Dataset, int, int, str], Part]
"""Chooses the images of a store for a realisation, a task and a split."""


def read(dataset: str, raw: Path, test_size: int) -> Images:
    """Return the images of a data set. UserError if the raw files or their labels are wrong.

    test_size: number of test images of digits, which have no official split.
    """
    if dataset in _cifar.SETS:
        images = _cifar.read(dataset, raw)
    elif dataset == "svhn":
        images = _svhn.read(raw)
    elif dataset == "digits":
        images = _idx_files.bundled_digits(test_size)
    else:
        images = _idx_files.idx_set(raw)
    highest = images.label.max(initial=0)
    if highest >= CLASSES[dataset]:
        raise UserError(
            f"Images {dataset} in {raw}: there is a label {highest}, but the classes"
            f" are 0 to {CLASSES[dataset] - 1}. Delete the raw files and fetch them again."
        )
    return images


def base(dataset: str, images: Images, validation: int, judge_on: str) -> xr.Dataset:
    """Return the part of the store that all realisations share: images, labels, splits.

    `validation` training images are set apart, the same for all tasks and realisations and of each
    class in proportion. UserError if a split has no image of some class.
    """
    split = _split(dataset, images, validation, judge_on)
    entry = raw_files.table()[dataset]
    attrs = {**entry.attributes(), "classes": CLASSES[dataset], "warm_up": 0, "judge_on": judge_on}
    return labelled(images.pixels, images.label, split, images.source, attrs)


def labelled(
    pixels: np.ndarray,
    label: np.ndarray,
    split: np.ndarray,
    position: np.ndarray,
    attrs: dict[str, Any],
) -> xr.Dataset:
    """Return a data set of images.

    Parameters
    ----------
    pixels : [image, y, x, channel] uint8
    label : [image]
    split : [image] positions in SPLITS
    position : [image] positions in the original data
    attrs : attributes of the data set
    """
    meanings = {"flag_values": [0, 1, 2], "flag_meanings": " ".join(SPLITS)}
    level = about("level of the channel, 255 is the brightest")
    return xr.Dataset(
        {
            "images": (("image", "y", "x", "channel"), pixels, level),
            "label": ("image", label, about("class")),
            "split": ("image", split, about("split") | meanings),
        },
        coords={
            "image": ("image", position, about("position in the original data")),
            "y": ("y", np.arange(pixels.shape[1]), about("row from the top", "pixel")),
            "x": ("x", np.arange(pixels.shape[2]), about("column from the left", "pixel")),
        },
        attrs=attrs,
    )


def drawn(family: str, first: int, realisations: int, tasks: int) -> xr.Dataset:
    """Return the seed of each task of the realisations from `first` on; every task is a shift."""
    numbers = np.arange(first, first + realisations)
    words = np.array([[seeds.fold(family, int(r), t) for t in range(tasks)] for r in numbers])
    shift = np.tile(np.arange(tasks) > 0, (realisations, 1))
    by_task = ("realisation", "task")
    return xr.Dataset(
        {
            "seed": ((*by_task, "word"), words, about("seed of all draws for the task")),
            "shift": (by_task, shift, about("whether the distribution changed before this task")),
        },
        coords={
            "realisation": ("realisation", numbers, about("number of the realisation")),
            "task": ("task", np.arange(tasks), about("number of the task")),
        },
    )


def problem(store: xr.Dataset, n_train: int, head_size: int | None = None) -> Problem:
    """Return classification with one head, or with one head of `head_size` outputs for each task.

    head_size: by default the number of classes.
    """
    shape = tuple(store.sizes[name] for name in ("y", "x", "channel"))
    classes, heads = int(store.attrs["classes"]), int(store.attrs["heads"])
    outputs = heads * (head_size or classes) if heads > 1 else classes
    tasks = store.sizes["task"]
    return Problem("classification", shape, outputs, n_train, n_tasks=tasks, heads=heads)


def task(store: xr.Dataset, realisations: Sequence[int], t: int, choose: Choice) -> Task:
    """Return training and validation data of task t; all tasks have as many rows as the largest."""
    train, validation = (
        chosen(store, realisations, t, name, choose) if largest(store, name) else None
        for name in SPLITS[:2]
    )
    assert train is not None  # `build` refuses a task without training images
    return Task(train, validation, None)


def chosen(
    store: xr.Dataset, realisations: Sequence[int], t: int, split: str, choose: Choice
) -> Batch:
    """Return the batch of the rows that `choose` takes for each realisation."""
    parts = [choose(store, realisation, t, split) for realisation in realisations]
    return batch(store, parts, largest(store, split), t)


def largest(store: xr.Dataset, split: str) -> int:
    """Return the number of rows of the largest task, by the variable `size` of the store."""
    return int(store["size"].values[..., SPLITS.index(split)].max())


def batch(store: xr.Dataset, parts: Sequence[Part], length: int, t: int) -> Batch:
    """Return the rows of each repetition, float32 in [0, 1] or standardised as the store says.

    Each batch has `length` rows; those beyond a part's own are masked, in its first class. With
    several heads the pixels of each row are flat, and the number t of the task follows them.
    """
    images = store["images"].values
    pixels = images.reshape(len(images), -1)
    has_heads = store.attrs["heads"] > 1
    size = pixels.shape[1]
    inputs = np.zeros((len(parts), length, size + has_heads), np.float32)
    inputs[..., size:] = t
    targets = np.empty(inputs.shape[:2], np.int32)
    mask = np.zeros(targets.shape, bool)
    for s, (rows, labels, order) in enumerate(parts):
        _fill(store, inputs[s, : len(rows), :size], pixels[rows], order)
        targets[s] = labels[0]
        targets[s, : len(rows)] = labels
        mask[s, : len(rows)] = True
    if not has_heads:
        inputs = inputs.reshape(*targets.shape, *images.shape[1:])
    return Batch(inputs, targets, mask)


def refuse_nothing_to_judge_on(dataset: str, validation: int, judge_on: str) -> None:
    """Raise UserError if learners are judged on validation images and there are none."""
    if judge_on == "validation" and not validation:
        raise UserError(
            f"Images {dataset}: judge_on is validation, but no images are set apart for it."
            " Set validation to their number."
        )


def _fill(
    store: xr.Dataset, target: np.ndarray, levels: np.ndarray, order: np.ndarray | None
) -> None:
    """Write grey levels [n, pixels] as numbers into target [n, pixels]."""
    if order is not None and order.ndim == 2:
        levels = np.take_along_axis(levels, order, axis=1)
    elif order is not None:
        levels = np.take(levels, order, axis=1)  # a quarter of the time of levels[:, order]
    np.divide(levels, np.float32(255), out=target)
    if "mean" in store:
        repeats = target.shape[1] // store.sizes["channel"]
        target -= np.tile(store["mean"].values, repeats)
        target /= np.tile(store["sd"].values, repeats)


def _split(dataset: str, images: Images, validation: int, judge_on: str) -> np.ndarray:
    """Return the split of each image [image], as a position in SPLITS."""
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

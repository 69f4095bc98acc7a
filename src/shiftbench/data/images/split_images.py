"""Image classification in which each task has classes of its own.

Source: eschenhagen2019vogn, sections 4.4 and 4.5, and farquhar2020radial, D.2 and D.3. With several
heads (one for each task, and each row tells its task) a learner tells the classes of a task apart;
with a single one it tells all classes apart, also those of other tasks. The set
cifar-10-100 is the paper's stream of six tasks: CIFAR-10, then ten classes of CIFAR-100 in
each.

After each task learners are judged on all tasks so far (`test`). Images are stored once; a
task is a choice of classes, applied when the task is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Problem, Task
from shiftbench.data import splits
from shiftbench.data.attributes import about
from shiftbench.data.images import _image_tasks
from shiftbench.data.images._image_tasks import CLASSES, Part
from shiftbench.data.splits import SPLITS

GIVES = "image"
HAS = {
    "tests": True,
    "earlier-tests": True,
    "shifts": True,
    "heads": {"heads": ("multi",), "not tasks": (1,)},
}
VARIES = {
    "orders of the classes": {"class_order": ("shuffled",)},
    "choices of training images": {"not train_per_task": (0,)},
}
AHEAD = {
    "pixels are standardised by the training images of all tasks": {"normalisation": ("z-score",)},
}


@dataclass(frozen=True)
class Settings:
    dataset: Literal[
        "digits", "mnist", "fashion-mnist", "cifar-10", "cifar-100", "cifar-10-100"
    ] = "digits"
    """The images; an entry of the table of raw data, which says what of CIFAR there is."""
    realisations: Annotated[int, Ge(1)] = 5
    """Number of independent realisations (order of the classes, and choice of training
    images); seed s uses the (s modulo this)-th of them."""
    first_realisation: Annotated[int, Ge(0)] = 0
    """Number of the first realisation. Tuning starts beyond those that are judged, so that it
    sees none of their orders."""
    tasks: Annotated[int, Ge(0)] = 0
    """Number of tasks, the first ones of the order; 0 is as many as the classes allow."""
    classes_per_task: Annotated[int, Ge(2)] = 2
    """Classes of a task: 2 in the papers, 10 for CIFAR (and cifar-10-100 takes no other)."""
    class_order: Literal["given", "shuffled"] = "shuffled"
    """given: classes 0 and 1, then 2 and 3, and so on, as in the papers; then realisations
    are alike but for a choice of training images. shuffled: each realisation has its own
    order (of cifar-10-100, CIFAR-10 stays the first task)."""
    heads: Literal["single", "multi"] = "multi"
    """multi: each task has outputs of its own, and each row tells its task. single: all tasks
    share an output for each class of the data set."""
    train_per_task: Annotated[int, Ge(0)] = 0
    """Training images of a task at most, of each class in proportion; 0 is all, as in the
    papers."""
    test_size: Annotated[int, Ge(10)] = 597
    """Images set apart for test where the data have no official split, which is so for
    digits; the same ones for all realisations. Without effect elsewhere."""
    validation: Annotated[int, Ge(0)] = 0
    """So many training images, of all tasks together, are set apart for validation, the same
    for all realisations; farquhar2020radial has 6000, eschenhagen2019vogn none."""
    judge_on: Literal["test", "validation"] = "test"
    """The images on which learners are judged: validation is for tuning, which never sees
    test images."""
    normalisation: Literal["none", "z-score"] = "none"
    """none: numbers in [0, 1]. z-score: minus the mean, by the standard deviation of each
    channel over the training images of all tasks, as in farquhar2020radial."""


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """The store: images, splits, the classes of each task [realisation, task, place].

    shift is truth and reaches no learner. A realisation is the same however many
    realisations and tasks there are. UserError where the raw files are wrong or the classes
    do not make such tasks.
    """
    tasks = _n_tasks(settings)
    images = _image_tasks.read(settings.dataset, Path(raw), settings.test_size)
    store = _image_tasks.base(settings.dataset, images, settings.validation, settings.judge_on)
    drawn = _image_tasks.drawn(
        "split-images", settings.first_realisation, settings.realisations, tasks
    )
    store = store.merge(drawn, combine_attrs="override").assign_attrs(
        title=f"{store.attrs['title']}, split by classes (eschenhagen2019vogn, 4.4)",
        heads=tasks if settings.heads == "multi" else 1,
        train_per_task=settings.train_per_task,
    )
    numbers = store["realisation"].values.tolist()
    classes = np.array([_order(settings, number, tasks) for number in numbers])
    names = ("realisation", "task", "place")
    store["classes"] = (names, classes, about("classes of the task, in the order of its labels"))
    store["size"] = ((*names[:2], "part"), _sizes(store), about("images of each split"))
    return store.merge(_moments(store)) if settings.normalisation == "z-score" else store


def problem(store: xr.Dataset) -> Problem:
    """Classification with one head for all classes, or with one for the classes of each task."""
    shape = tuple(store.sizes[name] for name in ("y", "x", "channel"))
    heads = int(store.attrs["heads"])
    outputs = heads * store.sizes["place"] if heads > 1 else int(store.attrs["classes"])
    return Problem(
        "classification", shape, outputs, _length(store, "train"), store.sizes["task"], heads
    )


def task(store: xr.Dataset, realisations: Sequence[int], t: int) -> Task:
    """Task t: inputs [S, n, y, x, channel] float32, targets [S, n] int32.

    With several heads inputs are [S, n, y x channel + 1], the last number being t, and the
    label of the k-th class of task t is t times the classes of a task, plus k; else it is
    the data set's. All tasks have as many rows as the largest; the others are masked.
    Test data: see `test`.
    """
    train, validation = (
        _batch(store, realisations, t, name) if _length(store, name) else None
        for name in ("train", "validation")
    )
    assert train is not None  # `build` has seen that every class has training images
    return Task(train, validation, None)


def test(store: xr.Dataset, realisations: Sequence[int], j: int) -> Batch:
    """The images of task j on which learners are judged, as in `task`."""
    return _batch(store, realisations, j, store.attrs["judge_on"])


def _n_tasks(settings: Settings) -> int:
    """The number of tasks. UserError where the classes do not make so many."""
    classes, each = CLASSES[settings.dataset], settings.classes_per_task
    at_most = classes // max(each, 1)
    for broken, reason in (
        (each < 2, "a task needs two classes or more"),
        (settings.dataset == "cifar-10-100" and each != 10, "it must be 10"),
        (settings.tasks > at_most, f"tasks is {settings.tasks}, but there are {at_most} at most"),
        (
            not settings.tasks and at_most * each < classes,
            f"classes are left over; set tasks to {at_most}",
        ),
        (
            0 < settings.train_per_task < each,
            f"train_per_task is {settings.train_per_task}, so a task would lack a class",
        ),
    ):
        if broken:
            raise UserError(
                f"Stream split-images: {settings.dataset} has {classes} classes and"
                f" classes_per_task is {each}: {reason}."
            )
    return settings.tasks or at_most


def _order(settings: Settings, number: int, tasks: int) -> np.ndarray:
    """The classes of each task [task, place] in one realisation."""
    classes = CLASSES[settings.dataset]
    order = np.arange(classes)
    if settings.class_order == "shuffled":
        random = seeds.generator(seeds.fold("split-images", "order", number))
        first = 10 if settings.dataset == "cifar-10-100" else 0
        order = np.concatenate(
            [random.permutation(order[:first]), random.permutation(order[first:])]
        )
    return order[: tasks * settings.classes_per_task].reshape(tasks, -1).astype(np.uint8)


def _sizes(store: xr.Dataset) -> np.ndarray:
    """Number of images [realisation, task, split]."""
    classes = int(store.attrs["classes"])
    cells = store["split"].values.astype(int) * classes + store["label"].values
    counts = np.bincount(cells, minlength=len(SPLITS) * classes).reshape(len(SPLITS), classes)
    sizes = counts.T[store["classes"].values].sum(axis=2)
    if store.attrs["train_per_task"]:
        sizes[..., 0] = np.minimum(sizes[..., 0], store.attrs["train_per_task"])
    return sizes


def _moments(store: xr.Dataset) -> xr.Dataset:
    """Mean and standard deviation of each channel over the training images, float32."""
    train = store["images"].values[store["split"].values == SPLITS.index("train")]
    levels = np.arange(256) / 255
    counts = [np.bincount(train[..., c].ravel(), minlength=256) for c in range(train.shape[-1])]
    share = np.array(counts) / train[..., 0].size
    mean = share @ levels
    sd = np.sqrt(share @ levels**2 - mean**2)
    if not sd.all():
        raise UserError("Stream split-images: a channel is constant; set normalisation to none.")
    names = {"mean": mean, "sd": sd}
    text = " of the channel over the training images, 1 is the brightest"
    return xr.Dataset(
        {k: ("channel", v.astype(np.float32), about(k + text)) for k, v in names.items()}
    )


def _length(store: xr.Dataset, split: str) -> int:
    """Rows of the largest task."""
    return int(store["size"].values[..., SPLITS.index(split)].max())


def _batch(store: xr.Dataset, realisations: Sequence[int], t: int, split: str) -> Batch:
    parts = [_part(store, realisation, t, split) for realisation in realisations]
    head = t if store.attrs["heads"] > 1 else None
    return _image_tasks.batch(store, parts, _length(store, split), head)


def _part(store: xr.Dataset, realisation: int, t: int, split: str) -> Part:
    classes = store["classes"].values[realisation, t]
    first = t * len(classes)
    label_of = np.full(store.attrs["classes"], -1)
    label_of[classes] = first + np.arange(len(classes)) if store.attrs["heads"] > 1 else classes
    labels = label_of[store["label"].values]
    rows = np.flatnonzero((labels >= 0) & (store["split"].values == SPLITS.index(split)))
    most = store.attrs["train_per_task"]
    if split == "train" and 0 < most < len(rows):
        random = seeds.generator(store["seed"].values[realisation, t])
        rows = rows[splits.stratified(labels[rows], most, random)]
    return Part(rows, labels[rows])

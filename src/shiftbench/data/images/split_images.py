"""Image classification in which each task has its own classes.

Source: eschenhagen2019vogn, sections 4.4 and 4.5, and farquhar2020radial, D.2 and D.3. With several
heads (one for each task, and each row gives its task) a learner distinguishes the classes of a
task; with a single head it distinguishes all classes. The set cifar-10-100 is the paper's stream of
six tasks: CIFAR-10, then ten classes of CIFAR-100 in each.

After each task learners are judged on all tasks so far (`test`). Images are stored once; a task is
a choice of classes, applied when the task is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge, Interval

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Problem, Task
from shiftbench.data import splits
from shiftbench.data.attributes import about
from shiftbench.data.images import _image_tasks
from shiftbench.data.images._image_tasks import CLASSES, Part
from shiftbench.data.splits import SPLITS

FACTS = Facts(
    gives={
        "image": True,
        "tests": True,
        "earlier-tests": True,
        "shifts": True,
        "heads": {"heads": ("multi",), "not tasks": (1,)},
    },
    varies={
        "orders of the classes": {"class_order": ("shuffled",)},
        "choices of training images": ({"not train_per_task": (0,)}, {"not blurry": (0.0,)}),
    },
    ahead={
        "pixels are standardised by the training images of all tasks": {
            "normalisation": ("z-score",)
        }
    },
)


@dataclass(frozen=True)
class Settings:
    dataset: Literal[
        "digits", "mnist", "fashion-mnist", "cifar-10", "cifar-100", "cifar-10-100"
    ] = "digits"
    """Name of the images in the table of raw data, which says what of CIFAR is available."""
    realisations: Annotated[int, Ge(1)] = 5
    """Number of independent realisations (order of the classes, and choice of training images);
    seed s uses realisation s modulo this."""
    first_realisation: Annotated[int, Ge(0)] = 0
    """Number of the first realisation. Tuning starts beyond the judged realisations, so that it
    sees none of their orders."""
    tasks: Annotated[int, Ge(0)] = 0
    """Number of tasks, the first ones of the order; 0: as many as the classes allow."""
    classes_per_task: Annotated[int, Ge(2)] = 2
    """Classes of a task: 2 in the papers, 10 for CIFAR (and cifar-10-100 takes no other)."""
    class_order: Literal["given", "shuffled"] = "shuffled"
    """given: classes 0 and 1, then 2 and 3, and so on, as in the papers; realisations then differ
    only by a choice of training images. shuffled: each realisation has its own order (CIFAR-10
    stays the first task of cifar-10-100)."""
    heads: Literal["single", "multi"] = "multi"
    """multi: each task has its own outputs, and each row gives its task. single: all tasks share
    an output for each class of the data set."""
    train_per_task: Annotated[int, Ge(0)] = 0
    """Largest number of training images of a task, of each class in proportion; 0: all, as in the
    papers."""
    blurry: Annotated[float, Interval(ge=0, lt=1)] = 0.0
    """Share of the training images of a task that are replaced by images of other tasks' classes,
    drawn from all of these (bang2021rainbow, Blurry10: 0.1); needs a single head. Test images are
    never mixed."""
    test_size: Annotated[int, Ge(10)] = 597
    """Number of test images of digits, which have no official split; the same images for all
    realisations. Without effect on other data."""
    validation: Annotated[int, Ge(0)] = 0
    """Number of training images, of all tasks together, that are set apart for validation, the
    same for all realisations; farquhar2020radial has 6000, eschenhagen2019vogn none."""
    judge_on: Literal["test", "validation"] = "test"
    """Images on which learners are judged; validation is for tuning, which never sees test
    images."""
    normalisation: Literal["none", "z-score"] = "none"
    """none: numbers in [0, 1]. z-score: each channel minus its mean, divided by its standard
    deviation, over the training images of all tasks, as in farquhar2020radial."""


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings exclude each other, with its remedy."""
    if settings.blurry and settings.heads == "multi":
        yield (
            "a head has outputs for the classes of its task alone, so that images of others have no"
            " label there; set heads to single, or blurry to 0"
        )


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """Return the store: images, splits, the classes of each task [realisation, task, place].

    shift is truth and reaches no learner. A realisation does not depend on the number of
    realisations and tasks. UserError if the raw files are wrong or the classes do not make such
    tasks.
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
    store.attrs |= {"blurry": settings.blurry} if settings.blurry else {}
    return store.merge(_moments(store)) if settings.normalisation == "z-score" else store


def problem(store: xr.Dataset) -> Problem:
    """Return classification with one head for all classes, or one for the classes of each task."""
    n_train = _image_tasks.largest(store, "train")
    return _image_tasks.problem(store, n_train, head_size=store.sizes["place"])


def task(store: xr.Dataset, realisations: Sequence[int], t: int) -> Task:
    """Return task t: inputs [S, n, y, x, channel] float32, targets [S, n] int32.

    With several heads inputs are [S, n, y x channel + 1], the last number being t, and the label of
    the k-th class of task t is t times the classes of a task, plus k; else it is the label of the
    data set. All tasks have as many rows as the largest; further rows are masked. Test data: see
    `test`.
    """
    return _image_tasks.task(store, realisations, t, _choose)


def test(store: xr.Dataset, realisations: Sequence[int], j: int) -> Batch:
    """Return the images of task j on which learners are judged, as in `task`."""
    return _image_tasks.chosen(store, realisations, j, store.attrs["judge_on"], _choose)


def _n_tasks(settings: Settings) -> int:
    """Return the number of tasks. UserError if the classes are too few for it."""
    classes, each = CLASSES[settings.dataset], settings.classes_per_task
    at_most = classes // max(each, 1)
    for is_wrong, reason in (
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
        if is_wrong:
            raise UserError(
                f"Stream split-images: {settings.dataset} has {classes} classes and"
                f" classes_per_task is {each}: {reason}."
            )
    return settings.tasks or at_most


def _order(settings: Settings, number: int, tasks: int) -> np.ndarray:
    """Return the classes of each task [task, place] in one realisation."""
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
    """Return the number of images [realisation, task, split]."""
    classes = int(store.attrs["classes"])
    cells = store["split"].values.astype(int) * classes + store["label"].values
    counts = np.bincount(cells, minlength=len(SPLITS) * classes).reshape(len(SPLITS), classes)
    sizes = counts.T[store["classes"].values].sum(axis=2)
    if store.attrs["train_per_task"]:
        sizes[..., 0] = np.minimum(sizes[..., 0], store.attrs["train_per_task"])
    return sizes


def _moments(store: xr.Dataset) -> xr.Dataset:
    """Return mean and standard deviation of each channel over the training images, float32."""
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


def _choose(store: xr.Dataset, realisation: int, t: int, split: str) -> Part:
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
    if split == "train" and "blurry" in store.attrs:
        rows = _blurred(store, realisation, t, rows)
        labels = store["label"].values
    return Part(rows, labels[rows])


def _blurred(store: xr.Dataset, realisation: int, t: int, rows: np.ndarray) -> np.ndarray:
    """Return a task's training images with a share of them replaced by those of other tasks."""
    words = store["seed"].values[realisation, t][np.newaxis]
    random = seeds.generator(seeds.fold_each(words, "blurry")[0])
    others = np.delete(store["classes"].values[realisation], t, axis=0)
    of_others = np.isin(store["label"].values, others)
    pool = np.flatnonzero(of_others & (store["split"].values == SPLITS.index("train")))
    number = min(round(store.attrs["blurry"] * len(rows)), len(pool))
    kept = random.permutation(rows)[: len(rows) - number]
    return np.sort(np.concatenate([kept, random.permutation(pool)[:number]]))

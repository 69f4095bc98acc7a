"""Your own labelled images: a folder of folders, or arrays in an .npz file.

The protocol makes tasks of them: `plain`, one task; `tasks`, the tasks in which you bring them;
`split`, other classes in each task, as split-images; `permuted`, all images under another
permutation of the pixels in each task, as permuted-images. The same images make the same tasks as
there. After each task learners are judged on all tasks so far.

A folder has CLASS/IMAGE, or TASK/CLASS/IMAGE for the protocol `tasks`; either may have folders
train and test above the folders of classes. Arrays are `images` [image, y, x] or [image, y, x,
channel], `labels` [image] and, for `tasks`, `tasks` [image]; or the same with train_ and test_
before their names; or x_train, y_train, x_test and y_test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Problem, Task
from shiftbench.data.attributes import about
from shiftbench.data.images import (
    _image_tasks,
    _images_by_task,
    _user_image_store,
    permuted_images,
    split_images,
)
from shiftbench.data.images._pictures import Pictures
from shiftbench.data.images._user_image_store import UserImageSettings, source
from shiftbench.data.splits import SPLITS

FACTS = Facts(
    gives={
        "image": True,
        "tests": True,
        "earlier-tests": True,
        "shifts": {"not protocol": ("plain",)},
        "heads": {"heads": ("multi",), "not tasks": (1,)},
    },
    varies={
        "permutations": {"protocol": ("permuted",)},
        "orders of the classes": {"protocol": ("split",), "class_order": ("shuffled",)},
        "choices of training images": {"not train_per_task": (0,)},
    },
)
READERS: dict[str, ModuleType] = {
    "plain": split_images,
    "tasks": _images_by_task,
    "split": split_images,
    "permuted": permuted_images,
}
"""The module that reads tasks from a store of each protocol."""
TITLES = {
    "plain": "",
    "tasks": ", task by task",
    "split": ", split by classes",
    "permuted": ", pixels permuted in each task",
}


@dataclass(frozen=True, kw_only=True)
class Settings(UserImageSettings):
    protocol: Literal["plain", "tasks", "split", "permuted"] = "plain"
    """How the images become tasks: all in one, as you bring them, by classes, or by permutations of
    the pixels."""
    realisations: Annotated[int, Ge(1)] = 5
    """Number of independent realisations (permutations, orders of the classes, choices of training
    images); seed s uses realisation s modulo this."""
    first_realisation: Annotated[int, Ge(0)] = 0
    """Number of the first realisation. Tuning starts beyond the judged realisations, so that it
    sees none of their draws."""
    tasks: Annotated[int, Ge(0)] = 0
    """Number of tasks, the first ones; 0: all tasks. Permutations have no end and need a number."""
    classes_per_task: Annotated[int, Ge(2)] = 2
    """Number of classes of a task, for the protocol split."""
    class_order: Literal["given", "shuffled"] = "shuffled"
    """Order of the classes for the protocol split: of their names, or another order in each
    realisation."""
    first_task: Literal["permuted", "identity"] = "permuted"
    """Whether task 0 is permuted too, for the protocol permuted."""
    heads: Literal["single", "multi"] = "single"
    """multi: each task has its own outputs, and each row gives its task. single: all tasks share an
    output for each class."""
    train_per_task: Annotated[int, Ge(0)] = 0
    """Largest number of training images of a task, of each class in proportion; 0: all."""


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings do not fit the protocol, with its remedy."""
    if settings.protocol == "permuted" and not settings.tasks:
        yield "protocol permuted needs tasks above 0: permutations have no end; set tasks"
    used_by: dict[str, tuple[str, ...]] = {
        "tasks": ("tasks", "split", "permuted"),
        "classes_per_task": ("split",),
        "class_order": ("split",),
        "first_task": ("permuted",),
        "heads": ("tasks", "split", "permuted"),
    }
    for name, protocols in used_by.items():
        is_set = getattr(settings, name) != getattr(Settings, name)
        if is_set and settings.protocol not in protocols:
            yield (
                f"protocol {settings.protocol} does not use {name}; leave {name} out, or set"
                f" protocol to {' or '.join(protocols)}"
            )


def look(settings: Settings, path: Path) -> None:
    """Raise UserError for wrong names of folders, files or arrays; no image is read."""
    _user_image_store.look(path, settings.protocol == "tasks")


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """Return the store of the images at `raw`: images, splits, and the draws of the protocol.

    shift is truth and reaches no learner. A realisation does not depend on the number of
    realisations and tasks. UserError if images are wrong, or do not make such tasks, or if settings
    do not fit the protocol.
    """
    for reason in unsupported(settings):
        raise UserError(f"{source(settings)}: {reason}.")
    pictures, position = _user_image_store.read(settings, raw, settings.protocol == "tasks")
    split = _user_image_store.with_validation(settings, pictures)
    store = _user_image_store.base(settings, pictures, position, split)
    draws = _draws(settings, store, pictures)
    attrs = {
        "warm_up": 0,
        "protocol": settings.protocol,
        "title": store.attrs["title"] + TITLES[settings.protocol],
        "heads": draws.sizes["task"] if settings.heads == "multi" else 1,
        "train_per_task": settings.train_per_task,
    }
    return store.merge(draws).assign_attrs(attrs | draws.attrs)


def problem(store: xr.Dataset) -> Problem:
    """Return classification of the images, with one head or one for each task."""
    return _reader(store).problem(store)


def task(store: xr.Dataset, realisations: Sequence[int], t: int) -> Task:
    """Return task t: inputs [S, n, y, x, channel] float32 in [0, 1], targets [S, n] int32.

    With several heads inputs are [S, n, y x channel + 1], the last number being t, as in
    split-images and permuted-images. Test data: see `test`.
    """
    return _reader(store).task(store, realisations, t)


def test(store: xr.Dataset, realisations: Sequence[int], j: int) -> Batch:
    """Return the images of task j on which learners are judged, as in `task`."""
    return _reader(store).test(store, realisations, j)


def _reader(store: xr.Dataset) -> ModuleType:
    return READERS[store.attrs["protocol"]]


def _draws(settings: Settings, store: xr.Dataset, pictures: Pictures) -> xr.Dataset:
    """Return what the protocol adds to the store; its attributes are for the store too.

    Draws are those of split-images and permuted-images, whose stores have the same form.
    """
    if settings.protocol == "plain":
        classes = np.arange(store.sizes["class"])
        of_task = np.broadcast_to(classes, (settings.realisations, 1, len(classes)))
        draws = _seeds(settings, "split-images", 1)
        return _with_classes(settings, store, draws, of_task).assign_attrs(change="none")
    if settings.protocol == "split":
        return _split(settings, store)
    if settings.protocol == "permuted":
        return _permuted(settings, store)
    return _by_task(settings, store, pictures)


def _split(settings: Settings, store: xr.Dataset) -> xr.Dataset:
    """Give each task some classes, in the order of their names or of each realisation."""
    classes, each = store.sizes["class"], settings.classes_per_task
    tasks = _n_tasks(settings, classes // each, f"{classes} classes, {each} a task")
    if not settings.tasks and classes % each:
        raise UserError(
            f"{source(settings)} has {classes} classes, so that with classes_per_task {each} some"
            f" are left over. Set tasks to {classes // each}, or change classes_per_task."
        )
    draws = _seeds(settings, "split-images", tasks)
    orders = [_order(settings, number, classes) for number in draws["realisation"].values.tolist()]
    of_task = np.stack(orders)[:, : tasks * each].reshape(len(orders), tasks, each)
    return _with_classes(settings, store, draws, of_task)


def _permuted(settings: Settings, store: xr.Dataset) -> xr.Dataset:
    """Give each task all images, with their pixels in another order."""
    if store.sizes["channel"] > 1:
        raise UserError(
            f"{source(settings)} has colours, but pixels are permuted of grey images. Set colour to"
            " grey."
        )
    n_train = int(_sizes(store)[0].sum())
    _refuse_few(settings, store.sizes["class"])
    draws = _seeds(settings, "permuted-images", settings.tasks)
    permuted = np.arange(settings.tasks) >= (settings.first_task == "identity")
    draws["permuted"] = ("task", permuted, about("whether the pixels are permuted"))
    return draws.assign_attrs(train_per_task=min(settings.train_per_task or n_train, n_train))


def _by_task(settings: Settings, store: xr.Dataset, pictures: Pictures) -> xr.Dataset:
    """Give each task the images that the user brings for it."""
    tasks = _n_tasks(settings, len(pictures.tasks), "images of tasks")
    draws = _seeds(settings, "image-file", tasks)
    of_split = [pictures.task[store["split"].values == k] for k in range(len(SPLITS))]
    size = np.stack([np.bincount(task, minlength=tasks)[:tasks] for task in of_split], axis=1)
    cells = np.unique(pictures.task * store.sizes["class"] + pictures.label)
    _refuse_few(settings, int(np.bincount(cells // store.sizes["class"]).max()))
    if settings.train_per_task:
        size[:, 0] = np.minimum(size[:, 0], settings.train_per_task)
    of_task = pictures.task.astype(np.min_scalar_type(len(pictures.tasks)))
    draws["of_task"] = ("image", of_task, about("task that the image is of"))
    draws["size"] = (("task", "part"), size, about("images of each split"))
    names = np.array(pictures.tasks[:tasks], str)
    return draws.assign_coords(task_name=("task", names, about("name of the task")))


def _seeds(settings: Settings, family: str, tasks: int) -> xr.Dataset:
    first, number = settings.first_realisation, settings.realisations
    return _image_tasks.drawn(family, first, number, tasks)


def _order(settings: Settings, number: int, classes: int) -> np.ndarray:
    if settings.class_order == "given":
        return np.arange(classes)
    return seeds.generator(seeds.fold("split-images", "order", number)).permutation(classes)


def _with_classes(
    settings: Settings, store: xr.Dataset, draws: xr.Dataset, classes: np.ndarray
) -> xr.Dataset:
    """Add the classes of each task [realisation, task, place], and their numbers of images."""
    names = ("realisation", "task", "place")
    size = _sizes(store).T[classes].sum(axis=2)
    _refuse_few(settings, classes.shape[2])
    if settings.train_per_task:
        size[..., 0] = np.minimum(size[..., 0], settings.train_per_task)
    long_name = "classes of the task, in the order of its labels"
    smallest = np.min_scalar_type(store.sizes["class"])
    draws["classes"] = (names, classes.astype(smallest), about(long_name))
    draws["size"] = ((*names[:2], "part"), size, about("images of each split"))
    return draws


def _sizes(store: xr.Dataset) -> np.ndarray:
    """Return the number of images [split, class]."""
    label, split, classes = store["label"].values, store["split"].values, store.sizes["class"]
    return np.stack([np.bincount(label[split == k], minlength=classes) for k in range(3)])


def _n_tasks(settings: Settings, at_most: int, content: str) -> int:
    """Return the number of tasks. UserError for more tasks than there are, or a single one."""
    if settings.tasks > at_most:
        raise UserError(
            f"{source(settings)} has {content}: {at_most} tasks, but tasks is {settings.tasks}."
            " Lower it, or bring more."
        )
    if not settings.tasks and at_most < 2:
        raise UserError(
            f"{source(settings)} has {content}: not two tasks. Set protocol to plain, or bring"
            " more."
        )
    return settings.tasks or at_most


def _refuse_few(settings: Settings, classes: int) -> None:
    if 0 < settings.train_per_task < classes:
        raise UserError(
            f"{source(settings)}: train_per_task is {settings.train_per_task}, so a task would lack"
            f" some of its {classes} classes. Raise it; 0 is all images."
        )

"""Tasks made of a user's images: what each protocol adds to the store of the images.

Draws are those of split-images and permuted-images, whose stores these are like.
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
import xarray as xr

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.data.attributes import about
from shiftbench.data.images import _image_tasks
from shiftbench.data.images._pictures import Pictures
from shiftbench.data.images._user_image_store import Own, source
from shiftbench.data.splits import SPLITS


class Protocols(Own, Protocol):
    """The settings of a stream of tasks of a user's images."""

    @property
    def realisations(self) -> int: ...
    @property
    def first_realisation(self) -> int: ...
    @property
    def tasks(self) -> int: ...
    @property
    def classes_per_task(self) -> int: ...
    @property
    def class_order(self) -> Literal["given", "shuffled"]: ...
    @property
    def first_task(self) -> Literal["permuted", "identity"]: ...
    @property
    def train_per_task(self) -> int: ...


def plain(settings: Protocols, store: xr.Dataset) -> xr.Dataset:
    """One task of all classes."""
    made = _drawn(settings, "split-images", 1)
    given = np.arange(store.sizes["class"])
    classes = np.broadcast_to(given, (settings.realisations, 1, len(given)))
    return _with_classes(settings, store, made, classes).assign_attrs(change="none")


def split(settings: Protocols, store: xr.Dataset) -> xr.Dataset:
    """Some classes a task, in the order of their names or in one of each realisation."""
    known, each = store.sizes["class"], settings.classes_per_task
    tasks = _tasks(settings, known // each, f"{known} classes, {each} a task")
    if not settings.tasks and known % each:
        raise UserError(
            f"{source(settings)} has {known} classes, so that with classes_per_task {each} some are"
            f" left over. Set tasks to {known // each}, or change classes_per_task."
        )
    made = _drawn(settings, "split-images", tasks)
    orders = [_order(settings, number, known) for number in made["realisation"].values.tolist()]
    classes = np.stack(orders)[:, : tasks * each].reshape(len(orders), tasks, each)
    return _with_classes(settings, store, made, classes)


def permuted(settings: Protocols, store: xr.Dataset) -> xr.Dataset:
    """All images in each task, their pixels in another order."""
    if store.sizes["channel"] > 1:
        raise UserError(
            f"{source(settings)} has colours, but pixels are permuted of grey images. Set colour to"
            " grey."
        )
    n_train = int(_sizes(store)[0].sum())
    _refuse_few(settings, store.sizes["class"])
    made = _drawn(settings, "permuted-images", settings.tasks)
    changed = np.arange(settings.tasks) >= (settings.first_task == "identity")
    made["permuted"] = ("task", changed, about("whether the pixels are permuted"))
    return made.assign_attrs(train_per_task=min(settings.train_per_task or n_train, n_train))


def by_task(settings: Protocols, store: xr.Dataset, pictures: Pictures) -> xr.Dataset:
    """The tasks that the images come in."""
    tasks = _tasks(settings, len(pictures.tasks), "images of tasks")
    made = _drawn(settings, "image-file", tasks)
    of_split = [pictures.task[store["split"].values == k] for k in range(len(SPLITS))]
    size = np.stack([np.bincount(task, minlength=tasks)[:tasks] for task in of_split], axis=1)
    of_cell = np.unique(pictures.task * store.sizes["class"] + pictures.label)
    _refuse_few(settings, int(np.bincount(of_cell // store.sizes["class"]).max()))
    if settings.train_per_task:
        size[:, 0] = np.minimum(size[:, 0], settings.train_per_task)
    of_task = pictures.task.astype(np.min_scalar_type(len(pictures.tasks)))
    made["of_task"] = ("image", of_task, about("task that the image is of"))
    made["size"] = (("task", "part"), size, about("images of each split"))
    names = np.array(pictures.tasks[:tasks], str)
    return made.assign_coords(task_name=("task", names, about("name of the task")))


def _drawn(settings: Protocols, family: str, tasks: int) -> xr.Dataset:
    first, number = settings.first_realisation, settings.realisations
    return _image_tasks.drawn(family, first, number, tasks)


def _order(settings: Protocols, number: int, classes: int) -> np.ndarray:
    if settings.class_order == "given":
        return np.arange(classes)
    return seeds.generator(seeds.fold("split-images", "order", number)).permutation(classes)


def _with_classes(
    settings: Protocols, store: xr.Dataset, made: xr.Dataset, classes: np.ndarray
) -> xr.Dataset:
    """The classes of each task [realisation, task, place], and how many images they have."""
    names = ("realisation", "task", "place")
    size = _sizes(store).T[classes].sum(axis=2)
    _refuse_few(settings, classes.shape[2])
    if settings.train_per_task:
        size[..., 0] = np.minimum(size[..., 0], settings.train_per_task)
    long_name = "classes of the task, in the order of its labels"
    smallest = np.min_scalar_type(store.sizes["class"])
    made["classes"] = (names, classes.astype(smallest), about(long_name))
    made["size"] = ((*names[:2], "part"), size, about("images of each split"))
    return made


def _sizes(store: xr.Dataset) -> np.ndarray:
    """Number of images [split, class]."""
    label, of_split = store["label"].values, store["split"].values
    known = store.sizes["class"]
    return np.stack([np.bincount(label[of_split == k], minlength=known) for k in range(3)])


def _tasks(settings: Protocols, at_most: int, there: str) -> int:
    """How many tasks there are. UserError where they are not so many, or one that was not meant."""
    if settings.tasks > at_most:
        raise UserError(
            f"{source(settings)} has {there}: {at_most} tasks, but tasks is {settings.tasks}. Lower"
            " it, or bring more."
        )
    if not settings.tasks and at_most < 2:
        raise UserError(
            f"{source(settings)} has {there}: not two tasks. Set protocol to plain, or bring more."
        )
    return settings.tasks or at_most


def _refuse_few(settings: Protocols, classes: int) -> None:
    if 0 < settings.train_per_task < classes:
        raise UserError(
            f"{source(settings)}: train_per_task is {settings.train_per_task}, so a task would lack"
            f" some of its {classes} classes. Raise it; 0 is all images."
        )

"""Images of your own, each of a class: a folder of folders, or arrays in an .npz file.

The protocol makes tasks of them: `plain`, one task; `tasks`, those in which you bring them;
`split`, classes of its own for each, as split-images; `permuted`, all images under a permutation
of the pixels for each, as permuted-images. The same images make the same tasks as there. After
each task learners are judged on all tasks so far.

A folder has CLASS/IMAGE, or TASK/CLASS/IMAGE for the protocol `tasks`; either may have folders
train and test above those of the classes. Arrays are `images` [image, y, x] or [image, y, x,
channel], `labels` [image] and, for `tasks`, `tasks` [image]; or such with train_ and test_ before
their names; or x_train, y_train, x_test and y_test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Annotated, Literal

import xarray as xr
from annotated_types import Ge, Gt, Lt

from shiftbench.core.interface import Batch, Problem, Task
from shiftbench.data.images import (
    _image_protocols,
    _images_by_task,
    _user_image_store,
    permuted_images,
    split_images,
)
from shiftbench.data.images._pictures import Pictures

GIVES = "image"
HAS = {
    "tests": True,
    "earlier-tests": True,
    "shifts": {"not protocol": ("plain",)},
    "heads": {"heads": ("multi",), "not tasks": (1,)},
}
VARIES = {
    "permutations": {"protocol": ("permuted",)},
    "orders of the classes": {"protocol": ("split",), "class_order": ("shuffled",)},
    "choices of training images": {"not train_per_task": (0,)},
}
WRONG = {
    "plain is one task with one head; take heads out": {
        "protocol": ("plain",),
        "heads": ("multi",),
    },
    "plain is one task; take tasks out": {"protocol": ("plain",), "not tasks": (0,)},
    "permutations go on for ever; set tasks to their number": {
        "protocol": ("permuted",),
        "tasks": (0,),
    },
}
READERS: dict[str, ModuleType] = {
    "plain": split_images,
    "tasks": _images_by_task,
    "split": split_images,
    "permuted": permuted_images,
}
"""What reads the tasks of a protocol from its store."""
TITLES = {
    "plain": "",
    "tasks": ", task by task",
    "split": ", split by classes",
    "permuted": ", pixels permuted in each task",
}


@dataclass(frozen=True)
class Settings:
    path: str
    """The folder, or the .npz file; relative to the file that says so."""
    protocol: Literal["plain", "tasks", "split", "permuted"] = "plain"
    """How the images become tasks."""
    size: Annotated[int, Ge(0)] = 0
    """Height and width in pixels to which all are brought; 0 keeps theirs, and all must have
    the same."""
    colour: Literal["kept", "grey"] = "kept"
    """Whether colours are kept, where there are some, or made grey."""
    sha256: str = ""
    """Checksum of the file; of a folder that of the lines which sha256sum prints of its files,
    sorted by name; empty is unchecked."""
    title: str = ""
    """What the images are; empty is the name of the file or folder."""
    licence: str = "not stated"
    """Their licence, which the store tells."""
    citation: str = "not stated"
    """Whom to cite for them."""
    realisations: Annotated[int, Ge(1)] = 5
    """Number of independent realisations (permutations, orders of the classes, choices of training
    images); seed s uses the (s modulo this)-th of them."""
    first_realisation: Annotated[int, Ge(0)] = 0
    """Number of the first realisation. Tuning starts beyond those that are judged, so that it
    sees none of theirs."""
    tasks: Annotated[int, Ge(0)] = 0
    """Number of tasks, the first ones; 0 is all that there are. Permutations have no end and need
    a number."""
    classes_per_task: Annotated[int, Ge(2)] = 2
    """Classes of a task, where they are split."""
    class_order: Literal["given", "shuffled"] = "shuffled"
    """Order of the classes where they are split: of their names, or another in each realisation."""
    first_task: Literal["permuted", "identity"] = "permuted"
    """Whether task 0 is permuted too, where pixels are."""
    heads: Literal["single", "multi"] = "single"
    """multi: each task has outputs of its own, and each row tells its task. single: all tasks
    share an output for each class."""
    train_per_task: Annotated[int, Ge(0)] = 0
    """Training images of a task at most, of each class in proportion; 0 is all."""
    test_share: Annotated[float, Gt(0), Lt(1)] = 0.2
    """Share of the images of each class (and task) that are for test, the same for all
    realisations. Without effect where you bring test images."""
    validation: Annotated[int, Ge(0)] = 0
    """So many training images, of all tasks together, are set apart for validation."""
    judge_on: Literal["test", "validation"] = "test"
    """The images on which learners are judged: validation is for tuning, which never sees
    test images."""


def look(settings: Settings, path: Path) -> None:
    """UserError where names of folders, files or arrays are wrong; no image is read."""
    _user_image_store.look(path, settings.protocol == "tasks")


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """The store of the images at `raw`: images, splits, and what the protocol draws.

    shift is truth and reaches no learner. A realisation is the same however many realisations and
    tasks there are. UserError where images are wrong, or do not make such tasks.
    """
    by_task = settings.protocol == "tasks"
    pictures, place = _user_image_store.read(settings, raw, by_task)
    split = _user_image_store.with_validation(settings, pictures)
    store = _user_image_store.base(settings, pictures, place, split)
    made = _made(settings, store, pictures)
    tasks = made.sizes["task"]
    attrs = {
        "warm_up": 0,
        "protocol": settings.protocol,
        "title": store.attrs["title"] + TITLES[settings.protocol],
        "heads": tasks if settings.heads == "multi" else 1,
        "train_per_task": settings.train_per_task,
    }
    return store.merge(made).assign_attrs(attrs | made.attrs)


def problem(store: xr.Dataset) -> Problem:
    """Classification of the images, with one head or one for each task."""
    return _reader(store).problem(store)


def task(store: xr.Dataset, realisations: Sequence[int], t: int) -> Task:
    """Task t: inputs [S, n, y, x, channel] float32 in [0, 1], targets [S, n] int32.

    With several heads inputs are [S, n, y x channel + 1], the last number being t; all as in
    split-images and permuted-images. Test data: see `test`.
    """
    return _reader(store).task(store, realisations, t)


def test(store: xr.Dataset, realisations: Sequence[int], j: int) -> Batch:
    """The images of task j on which learners are judged, as in `task`."""
    return _reader(store).test(store, realisations, j)


def _made(settings: Settings, store: xr.Dataset, pictures: Pictures) -> xr.Dataset:
    """What the protocol adds to the store; its attributes are further ones of the store."""
    if settings.protocol == "plain":
        return _image_protocols.plain(settings, store)
    if settings.protocol == "split":
        return _image_protocols.split(settings, store)
    if settings.protocol == "permuted":
        return _image_protocols.permuted(settings, store)
    return _image_protocols.by_task(settings, store, pictures)


def _reader(store: xr.Dataset) -> ModuleType:
    return READERS[store.attrs["protocol"]]

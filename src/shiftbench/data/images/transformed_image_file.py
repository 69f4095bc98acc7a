"""Images of your own under affine maps that change every few tasks.

The protocol of transformed-images (li2021vbs, 4.2) on a folder of images by class, or an .npz
file, as image-file reads them. Validation images are some of those for test.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt, Lt

from shiftbench.core.errors import UserError
from shiftbench.data.attributes import about
from shiftbench.data.images import _user_image_store, transformed_images
from shiftbench.data.images.transformed_images import problem, task, view

GIVES = "image"
HAS = {"tests": True, "shifts": True, "maps": True, "warm-up": {"warm_up": (True,)}}
VARIES = ("transformations", "orders of the images")

__all__ = ["Settings", "build", "look", "problem", "task", "view"]


@dataclass(frozen=True)
class Settings:
    path: str
    """The folder, or the .npz file; relative to the file that says so."""
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
    """Number of independent realisations (maps and order of the training images); seed s
    uses the (s modulo this)-th of them."""
    first_realisation: Annotated[int, Ge(0)] = 0
    """Number of the first realisation. Tuning starts beyond those that are judged, so that it
    sees none of their maps."""
    tasks: Annotated[int, Ge(1)] = 30
    """Number of tasks; the paper has 100."""
    tasks_per_segment: Annotated[int, Ge(1)] = 3
    """The map changes after so many tasks."""
    train_per_task: Annotated[int, Ge(1)] = 400
    """Training images of a task."""
    rotation_sd: Annotated[float, Ge(0)] = 10.0
    """Standard deviation of the rotation, in degrees."""
    scale_sd: Annotated[float, Ge(0)] = 0.3
    """Standard deviation of the scale factor, whose mean is 1."""
    shift_beta: tuple[Annotated[float, Gt(0)], Annotated[float, Gt(0)]] = (1.0, 10.0)
    """The two parameters of the Beta distribution of the displacement, a fraction of the
    image's size."""
    strength: Annotated[float, Ge(0)] = 1.0
    """Factor of the maps: of scale_sd, of rotation_sd and of the displacement."""
    test_share: Annotated[float, Gt(0), Lt(1)] = 0.2
    """Share of the images of each class that are for test, the same for all realisations. Without
    effect where you bring test images."""
    validation: Annotated[int, Ge(0)] = 0
    """So many of the test images, of each class in proportion, serve for validation."""
    judge_on: Literal["test", "validation"] = "test"
    """The images on which learners are judged: validation is for tuning, which never sees
    test images."""
    warm_up: bool = True
    """Whether a task -1 shows untransformed training images first, as in the paper."""
    warm_up_size: Annotated[int, Ge(0)] = 0
    """Number of training images in the warm-up, drawn once for all realisations; 0 is all."""


def look(settings: Settings, path: Path) -> None:
    """UserError where names of folders, files or arrays are wrong; no image is read."""
    _user_image_store.look(path, by_task=False)


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """The store of the images at `raw`, as that of transformed-images.

    UserError where images are wrong, or the settings ask for more than there are.
    """
    pictures, place = _user_image_store.read(settings, raw, by_task=False)
    split = _user_image_store.with_validation(settings, pictures, of="test")
    store = _user_image_store.base(settings, pictures, place, split)
    n_train = int((split == 0).sum())
    _refuse_more(settings, n_train)
    protocol = _protocol(settings)
    if settings.warm_up:
        index = transformed_images._warm_up_index(protocol, n_train)
        store["warm_up_index"] = ("warm_up_sample", index, about("image of the warm-up"))
    title = f"{store.attrs['title']}, under affine maps (li2021vbs, 4.2)"
    store = store.merge(_tasks(protocol, n_train))
    return store.assign_attrs(title=title, warm_up=int(settings.warm_up))


def _refuse_more(settings: Settings, n_train: int) -> None:
    for name, value in (
        ("train_per_task", settings.train_per_task),
        ("warm_up_size", settings.warm_up_size),
    ):
        if value > n_train:
            raise UserError(
                f"{_user_image_store.source(settings)}: {name} is {value}, but there are {n_train}"
                " training images. Lower it."
            )


def _protocol(settings: Settings) -> transformed_images.Settings:
    """The same protocol on its own images, which only `build` there would read."""
    return transformed_images.Settings(
        realisations=settings.realisations,
        first_realisation=settings.first_realisation,
        tasks=settings.tasks,
        tasks_per_segment=settings.tasks_per_segment,
        train_per_task=settings.train_per_task,
        rotation_sd=settings.rotation_sd,
        scale_sd=settings.scale_sd,
        shift_beta=settings.shift_beta,
        strength=settings.strength,
        warm_up_size=settings.warm_up_size,
    )


def _tasks(protocol: transformed_images.Settings, n_train: int) -> xr.Dataset:
    """The maps of all segments, and the training images of all tasks."""
    numbers = transformed_images._numbers(protocol)
    segments = range(transformed_images._segments(protocol))
    maps = [[transformed_images._map(protocol, r, k) for k in segments] for r in numbers]
    orders = [transformed_images._order(protocol, n_train, r) for r in numbers]
    return transformed_images._tasks_part(protocol, np.array(maps), np.stack(orders))

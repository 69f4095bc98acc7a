"""Your own images under affine maps that change every few tasks.

The protocol of transformed-images (li2021vbs, 4.2) on a folder of images by class, or an .npz file,
which are read as for image-file. Validation images are some of the test images.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Literal

import xarray as xr
from annotated_types import Ge, Gt, Lt

from shiftbench.core.errors import UserError
from shiftbench.core.facts import Facts
from shiftbench.data.images import _user_image_store, transformed_images
from shiftbench.data.images.transformed_images import problem, task, view

FACTS = Facts(
    gives={
        "image": True,
        "tests": True,
        "shifts": True,
        "maps": True,
        "warm-up": {"warm_up": (True,)},
    },
    varies=("transformations", "orders of the images"),
)

__all__ = ["Settings", "build", "look", "problem", "task", "view"]


@dataclass(frozen=True)
class Settings:
    path: str
    """The folder or the .npz file, relative to the file that names it."""
    size: Annotated[int, Ge(0)] = 0
    """Height and width in pixels to which all images are resized; 0: images keep their size, which
    must be the same for all."""
    colour: Literal["kept", "grey"] = "kept"
    """kept: colours, if there are any, stay. grey: they become grey."""
    sha256: str = ""
    """Checksum of the file, or of a folder: the checksum of the lines that sha256sum prints for its
    files, sorted by name. Empty: unchecked."""
    title: str = ""
    """What the images are; empty: the name of the file or folder."""
    licence: str = "not stated"
    """Licence of the images, which the store carries."""
    citation: str = "not stated"
    """Whom to cite for the images."""
    realisations: Annotated[int, Ge(1)] = 5
    """Number of independent realisations (maps and order of the training images); seed s uses
    realisation s modulo this."""
    first_realisation: Annotated[int, Ge(0)] = 0
    """Number of the first realisation. Tuning starts beyond the judged realisations, so that it
    sees none of their maps."""
    tasks: Annotated[int, Ge(1)] = 30
    """Number of tasks; the paper has 100."""
    tasks_per_segment: Annotated[int, Ge(1)] = 3
    """Number of tasks after which the map changes."""
    train_per_task: Annotated[int, Ge(1)] = 400
    """Number of training images of a task."""
    rotation_sd: Annotated[float, Ge(0)] = 10.0
    """Standard deviation of the rotation, in degrees."""
    scale_sd: Annotated[float, Ge(0)] = 0.3
    """Standard deviation of the scale factor, whose mean is 1."""
    shift_beta: tuple[Annotated[float, Gt(0)], Annotated[float, Gt(0)]] = (1.0, 10.0)
    """The two parameters of the Beta distribution of the displacement, a fraction of the image's
    size."""
    strength: Annotated[float, Ge(0)] = 1.0
    """Factor of scale_sd, rotation_sd and the displacement."""
    test_share: Annotated[float, Gt(0), Lt(1)] = 0.2
    """Share of the images of each class that are for test, the same for all realisations. Without
    effect on data with their own test images."""
    validation: Annotated[int, Ge(0)] = 0
    """Number of test images, of each class in proportion, that serve for validation."""
    judge_on: Literal["test", "validation"] = "test"
    """Images on which learners are judged; validation is for tuning, which never sees test
    images."""
    warm_up: bool = True
    """Whether a task -1 shows untransformed training images first, as in the paper."""
    warm_up_size: Annotated[int, Ge(0)] = 0
    """Number of training images in the warm-up, drawn once for all realisations; 0: all."""


def look(settings: Settings, path: Path) -> None:
    """Raise UserError for wrong names of folders, files or arrays; no image is read."""
    _user_image_store.look(path, by_task=False)


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """Return the store of the images at `raw`, in the form of transformed-images.

    UserError if images are wrong, or fewer than the settings ask for.
    """
    pictures, position = _user_image_store.read(settings, raw, by_task=False)
    split = _user_image_store.with_validation(settings, pictures, taken_from="test")
    store = _user_image_store.base(settings, pictures, position, split)
    n_train = int((split == 0).sum())
    _refuse_more(settings, n_train)
    shared = {field.name for field in fields(transformed_images.Settings)} & set(vars(settings))
    protocol = transformed_images.Settings(**{name: getattr(settings, name) for name in shared})
    return transformed_images.transformed(protocol, store, n_train)


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

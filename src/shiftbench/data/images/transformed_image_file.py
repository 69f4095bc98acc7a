"""Your own images under affine maps that change every few tasks.

The protocol of transformed-images (li2021vbs, 4.2) on a folder of images by class, or an .npz file,
which are read as for image-file. Validation images are some of the test images.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import xarray as xr
from annotated_types import Ge

from shiftbench.core.errors import UserError
from shiftbench.core.facts import Facts
from shiftbench.data.images import _user_image_store, transformed_images
from shiftbench.data.images._segment_maps import Transformations
from shiftbench.data.images._user_image_store import UserImageSettings
from shiftbench.data.images.transformed_images import problem, task, view
from shiftbench.data.segments import excluded

FACTS = Facts(
    gives={
        "image": True,
        "tests": True,
        "shifts": True,
        "maps": True,
        "returns": {"schedule": ("recurring", "recurring-twin")},
        "warm-up": {"warm_up": (True,)},
    },
    varies=("transformations", "orders of the images"),
)

__all__ = ["Settings", "build", "look", "problem", "task", "unsupported", "view"]


@dataclass(frozen=True, kw_only=True)
class Settings(UserImageSettings, Transformations):
    validation: Annotated[int, Ge(0)] = 0
    """Number of test images, of each class in proportion, that serve for validation."""


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings exclude each other, with its remedy."""
    yield from excluded(settings)


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
    return transformed_images.transformed(settings, store, n_train)


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

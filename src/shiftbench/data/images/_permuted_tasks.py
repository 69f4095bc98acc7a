"""Settings that streams with permuted pixels and with permuted labels share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge

from shiftbench.core.errors import UserError
from shiftbench.data.images import _image_tasks


@dataclass(frozen=True)
class PermutedTasks:
    """The images, their splits and the realisations of tasks that differ by permutations."""

    dataset: Literal["digits", "mnist", "fashion-mnist"] = "digits"
    """Name of the images in the table of raw data."""
    realisations: Annotated[int, Ge(1)] = 5
    """Number of independent realisations (permutations, and choice of training images); seed s uses
    realisation s modulo this."""
    first_realisation: Annotated[int, Ge(0)] = 0
    """Number of the first realisation. Tuning starts beyond the judged realisations, so that it
    sees none of their permutations."""
    test_size: Annotated[int, Ge(10)] = 597
    """Number of test images of digits, which have no official split; the same images for all
    realisations. Without effect on other data."""
    validation: Annotated[int, Ge(0)] = 0
    """Number of training images that are set apart for validation, the same for all tasks and
    realisations; the papers have none and judge on test images throughout."""
    judge_on: Literal["test", "validation"] = "test"
    """Images on which learners are judged; validation is for tuning, which never sees test
    images."""


def refuse_size(
    family: str, settings: PermutedTasks, train_per_task: int, n_images: int, besides: str = ""
) -> None:
    """Raise UserError unless `n_images` training images allow tasks of `train_per_task`.

    n_images: with those for validation. besides: what else the setting may be, in words.
    """
    least = _image_tasks.CLASSES[settings.dataset]
    n_train = n_images - settings.validation
    if not least <= train_per_task <= n_train:
        raise UserError(
            f"Stream {family}: train_per_task is {train_per_task}, but {settings.dataset} allows"
            f" {least} to {n_train}{besides} (validation has {settings.validation} of the training"
            " images)."
        )

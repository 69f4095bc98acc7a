"""Image classification in which each task has its own permutation of the pixels.

Source: eschenhagen2019vogn, section 4.3: each task is the whole data set under one fixed random
permutation. Each realisation has its own permutations, whereas the public code of VOGN and of VCL
has one set of them for all seeds. With a single head all tasks share the outputs; with several
heads each row gives its task, as UCB and HAT need it.

After each task learners are judged on all tasks so far (`test`). Images are stored once; a task is
a seed, and its permutation is applied when the task is read.
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
from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Problem, Task
from shiftbench.data import splits
from shiftbench.data.attributes import about
from shiftbench.data.images import _image_tasks
from shiftbench.data.images._image_tasks import Part
from shiftbench.data.images._permuted_tasks import PermutedTasks, refuse_size
from shiftbench.data.splits import SPLITS

FACTS = Facts(
    gives={
        "image": True,
        "tests": True,
        "earlier-tests": True,
        "shifts": True,
        "heads": {"heads": ("multi",), "not tasks": (1,)},
    },
    varies={"permutations": True, "choices of training images": {"not train_per_task": (0,)}},
)


@dataclass(frozen=True)
class Settings(PermutedTasks):
    tasks: Annotated[int, Ge(1)] = 10
    """Number of tasks; the papers have 10."""
    train_per_task: Annotated[int, Ge(0)] = 0
    """Number of training images of a task, drawn for each task, of each class in proportion; 0:
    all, as in the papers."""
    first_task: Literal["permuted", "identity"] = "permuted"
    """permuted: task 0 is permuted like all others, as in eschenhagen2019vogn, VCL's code and UCB.
    identity: task 0 has the original images, as in improved VCL."""
    heads: Literal["single", "multi"] = "single"
    """multi: each task has its own outputs, and each row gives its task, as in UCB and HAT.
    single: all tasks share the outputs, as in the other papers."""


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """Return the store: images, splits, and a seed for each task [realisation, task].

    shift is truth and reaches no learner. A realisation does not depend on the number of
    realisations and tasks. UserError if the raw files are wrong or have too few images.
    """
    images = _image_tasks.read(settings.dataset, Path(raw), settings.test_size)
    store = _image_tasks.base(settings.dataset, images, settings.validation, settings.judge_on)
    if settings.train_per_task:
        size, besides = settings.train_per_task, ", or 0 for all"
        refuse_size("permuted-images", settings, size, images.n_train, besides)
    drawn = _image_tasks.drawn(
        "permuted-images", settings.first_realisation, settings.realisations, settings.tasks
    )
    permuted = np.arange(settings.tasks) >= (settings.first_task == "identity")
    store["permuted"] = ("task", permuted, about("whether the pixels are permuted"))
    store = store.merge(drawn, combine_attrs="override")
    return store.assign_attrs(
        title=f"{store.attrs['title']}, pixels permuted in each task (eschenhagen2019vogn, 4.3)",
        heads=settings.tasks if settings.heads == "multi" else 1,
        train_per_task=settings.train_per_task or images.n_train - settings.validation,
    )


def problem(store: xr.Dataset) -> Problem:
    """Return classification of the images, with one head or one for each task."""
    return _image_tasks.problem(store, int(store.attrs["train_per_task"]))


def task(store: xr.Dataset, realisations: Sequence[int], t: int) -> Task:
    """Return task t: inputs [S, n, y, x, 1] float32 in [0, 1], targets [S, n] int32.

    With several heads inputs are [S, n, y x + 1], the last number being t, and the labels of task t
    start at t times the number of classes. Test data: see `test`.
    """
    has_validation = (store["split"].values == SPLITS.index("validation")).any()
    validation = _batch(store, realisations, t, "validation") if has_validation else None
    return Task(_batch(store, realisations, t, "train"), validation, None)


def test(store: xr.Dataset, realisations: Sequence[int], j: int) -> Batch:
    """Return the images of task j on which learners are judged, as in `task`."""
    return _batch(store, realisations, j, store.attrs["judge_on"])


def permutation(store: xr.Dataset, realisation: int, t: int) -> np.ndarray:
    """Return which pixel of the image, row by row, comes at each position in task t [pixels]."""
    size = store.sizes["y"] * store.sizes["x"]
    if not store["permuted"].values[t]:
        return np.arange(size)
    return seeds.generator(store["seed"].values[realisation, t]).permutation(size)


def _batch(store: xr.Dataset, realisations: Sequence[int], t: int, split: str) -> Batch:
    rows = np.flatnonzero(store["split"].values == SPLITS.index(split))
    first = t * store.attrs["classes"] if store.attrs["heads"] > 1 else 0
    label = store["label"].values
    parts = []
    for realisation in realisations:
        chosen = _drawn(store, realisation, t, rows) if split == "train" else rows
        parts.append(Part(chosen, first + label[chosen], permutation(store, realisation, t)))
    return _image_tasks.batch(store, parts, len(parts[0].rows), t)


def _drawn(store: xr.Dataset, realisation: int, t: int, rows: np.ndarray) -> np.ndarray:
    """Return the training images of a task."""
    number = store.attrs["train_per_task"]
    if number == len(rows):
        return rows
    words = store["seed"].values[realisation, t][np.newaxis]
    random = seeds.generator(seeds.fold_each(words, "images")[0])
    return rows[splits.stratified(store["label"].values[rows], number, random)]

"""Image classification in which each task gives the classes other labels; images stay the same.

Source: kumar2023plasticity and lyle2023plasticity, tasks with permuted labels. Only the features
that were learnt in a task help in the next. So accuracy while a task is learnt shows whether a
network still learns as well as at first: its plasticity. The distribution of images never changes.
Only that of labels given images does, a shift of the kind `concept`.

Learners are judged on test images under the labels of the task at hand, since earlier labels
contradict it. Images are stored once; a task is a seed, and its permutation of the labels is
applied when the task is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

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
    gives=("image", "tests", "shifts"), varies=("permutations", "choices of training images")
)


@dataclass(frozen=True)
class Settings(PermutedTasks):
    tasks: Annotated[int, Ge(1)] = 200
    """Number of tasks."""
    train_per_task: Annotated[int, Ge(1)] = 256
    """Number of training images, of each class in proportion: the same ones in all tasks."""


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """Return the store: images, splits, rows of each realisation, and a seed for each task.

    shift and concept are truth and reach no learner. A realisation does not depend on the number of
    realisations and tasks. UserError if the raw files are wrong or have too few images.
    """
    images = _image_tasks.read(settings.dataset, Path(raw), settings.test_size)
    store = _image_tasks.base(settings.dataset, images, settings.validation, settings.judge_on)
    refuse_size("permuted-labels", settings, settings.train_per_task, images.n_train)
    drawn = _image_tasks.drawn(
        "permuted-labels", settings.first_realisation, settings.realisations, settings.tasks
    )
    store = store.merge(drawn, combine_attrs="override")
    text = about("image of the training data, by position")
    store["train_rows"] = (("realisation", "sample"), _rows(settings, store), text)
    concept = np.broadcast_to(np.arange(settings.tasks), store["shift"].shape)
    text = about("number of the distribution of a task; equal numbers are the same one")
    store["concept"] = (("realisation", "task"), concept, text)
    title = f"{store.attrs['title']}, labels permuted in each task (kumar2023plasticity)"
    return store.assign_attrs(title=title, heads=1, shift_kind="concept")


def problem(store: xr.Dataset) -> Problem:
    """Return classification of the images, with one head."""
    return _image_tasks.problem(store, store.sizes["sample"])


def task(store: xr.Dataset, realisations: Sequence[int], t: int) -> Task:
    """Return task t: inputs [S, n, y, x, 1] float32 in [0, 1], the same for all t, targets [S, n].

    Validation and test data are all images of their split under the labels of the task. If the
    store judges on validation, the validation images are the test data.
    """
    train = store["train_rows"].values[list(realisations)]
    split = store["split"].values
    held_out = [np.flatnonzero(split == SPLITS.index(name)) for name in SPLITS[1:]]
    validation, test = (
        _batch(store, realisations, t, np.tile(rows, (len(train), 1))) if len(rows) else None
        for rows in held_out
    )
    return splits.judged(store, Task(_batch(store, realisations, t, train), validation, test))


def permutation(store: xr.Dataset, realisation: int, t: int) -> np.ndarray:
    """Return the label that each class has in task t [classes]."""
    random = seeds.generator(store["seed"].values[realisation, t])
    return random.permutation(store.attrs["classes"])


def _rows(settings: Settings, store: xr.Dataset) -> np.ndarray:
    """Return the training images of each realisation [realisation, sample]."""
    rows = np.flatnonzero(store["split"].values == SPLITS.index("train"))
    label = store["label"].values[rows]
    keys = [
        seeds.fold("permuted-labels", "images", number)
        for number in store["realisation"].values.tolist()
    ]
    chosen = [
        rows[splits.stratified(label, settings.train_per_task, seeds.generator(key))]
        for key in keys
    ]
    return np.stack(chosen).astype(np.min_scalar_type(len(store["label"]) - 1))


def _batch(store: xr.Dataset, realisations: Sequence[int], t: int, rows: np.ndarray) -> Batch:
    """Return rows [S, n] of the images under the labels that task t gives their classes."""
    label = store["label"].values
    parts = [
        Part(own, permutation(store, realisation, t)[label[own]])
        for own, realisation in zip(rows, realisations, strict=True)
    ]
    return _image_tasks.batch(store, parts, rows.shape[1], t)

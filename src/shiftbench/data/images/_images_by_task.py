"""Tasks of a store whose images each belong to one task: all images of the task, or a choice.

of_task [image] is the task of an image, size [task, part] the number of images of each split. With
several heads each task has its own output for each class, else all tasks share the outputs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Problem, Task
from shiftbench.data import splits
from shiftbench.data.images import _image_tasks
from shiftbench.data.images._image_tasks import Part
from shiftbench.data.splits import SPLITS


def problem(store: xr.Dataset) -> Problem:
    """Return classification of the images, with one head or one for each task."""
    return _image_tasks.problem(store, _image_tasks.largest(store, "train"))


def task(store: xr.Dataset, realisations: Sequence[int], t: int) -> Task:
    """Return task t: inputs [S, n, y, x, channel] float32 in [0, 1], targets [S, n] int32.

    With several heads inputs are [S, n, y x channel + 1], the last number being t, and the labels
    of task t start at t times the number of classes. Test data: see `test`.
    """
    return _image_tasks.task(store, realisations, t, _choose)


def test(store: xr.Dataset, realisations: Sequence[int], j: int) -> Batch:
    """Return the images of task j on which learners are judged, as in `task`."""
    return _image_tasks.chosen(store, realisations, j, store.attrs["judge_on"], _choose)


def _choose(store: xr.Dataset, realisation: int, t: int, split: str) -> Part:
    of_task = store["of_task"].values == t
    rows = np.flatnonzero(of_task & (store["split"].values == SPLITS.index(split)))
    labels = store["label"].values[rows].astype(np.int64)
    most = store["size"].values[t, SPLITS.index(split)]
    if most < len(rows):
        random = seeds.generator(store["seed"].values[realisation, t])
        chosen = splits.stratified(labels, most, random)
        rows, labels = rows[chosen], labels[chosen]
    return Part(rows, labels + (t * store.attrs["classes"] if store.attrs["heads"] > 1 else 0))

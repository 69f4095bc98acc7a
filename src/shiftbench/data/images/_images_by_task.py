"""Tasks of a store whose images each belong to one task: all of its images, or a choice.

of_task [image] is the task of an image, size [task, part] the number of each split. With several
heads each task has its own output for each class, else all tasks share one.
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
    """Classification of the images, with one head or one for each task."""
    shape = tuple(store.sizes[name] for name in ("y", "x", "channel"))
    heads = int(store.attrs["heads"])
    outputs, rows = heads * int(store.attrs["classes"]), _length(store, "train")
    return Problem("classification", shape, outputs, rows, store.sizes["task"], heads)


def task(store: xr.Dataset, realisations: Sequence[int], t: int) -> Task:
    """Task t: inputs [S, n, y, x, channel] float32 in [0, 1], targets [S, n] int32.

    With several heads inputs are [S, n, y x channel + 1], the last number being t, and the labels
    of task t start at t times the number of classes. All tasks have as many rows as the largest;
    the others are masked. Test data: see `test`.
    """
    train, validation = (
        _batch(store, realisations, t, name) if _length(store, name) else None
        for name in SPLITS[:2]
    )
    assert train is not None  # `build` has seen that every task has training images
    return Task(train, validation, None)


def test(store: xr.Dataset, realisations: Sequence[int], j: int) -> Batch:
    """The images of task j on which learners are judged, as in `task`."""
    return _batch(store, realisations, j, store.attrs["judge_on"])


def _length(store: xr.Dataset, split: str) -> int:
    """Rows of the largest task."""
    return int(store["size"].values[:, SPLITS.index(split)].max())


def _batch(store: xr.Dataset, realisations: Sequence[int], t: int, split: str) -> Batch:
    parts = [_part(store, realisation, t, split) for realisation in realisations]
    head = t if store.attrs["heads"] > 1 else None
    return _image_tasks.batch(store, parts, _length(store, split), head)


def _part(store: xr.Dataset, realisation: int, t: int, split: str) -> Part:
    here = store["of_task"].values == t
    rows = np.flatnonzero(here & (store["split"].values == SPLITS.index(split)))
    labels = store["label"].values[rows].astype(np.int64)
    most = store["size"].values[t, SPLITS.index(split)]
    if most < len(rows):
        random = seeds.generator(store["seed"].values[realisation, t])
        chosen = splits.stratified(labels, most, random)
        rows, labels = rows[chosen], labels[chosen]
    return Part(rows, labels + (t * store.attrs["classes"] if store.attrs["heads"] > 1 else 0))

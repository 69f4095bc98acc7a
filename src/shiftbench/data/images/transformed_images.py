"""Image classification under affine maps that change every few tasks.

Source: li2021vbs, sections 4.2 and C.2. Each segment of tasks has one map that scales by
1 + N(0, scale_sd^2), turns by N(0, rotation_sd^2) degrees and moves by plus or minus Beta(a, b) of
the size, the same in x and y; it acts on all images, training and test. The first segment has no
map. As in the authors' code the training images are shuffled for each segment and cut into
consecutive batches, starting over at the end. The paper's segments are regular; irregular,
recurring and gradual ones are ours (`data/segments.py`).

The paper makes each learner's first prior from the whole training set, untransformed: that is task
-1, the warm-up. Images are stored once; maps are applied when a task is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Problem, Task
from shiftbench.data import segments, splits
from shiftbench.data.attributes import about
from shiftbench.data.images import _image_tasks, _segment_maps
from shiftbench.data.images._pictures import Images
from shiftbench.data.images._segment_maps import Transformations
from shiftbench.data.segments import excluded
from shiftbench.data.splits import SPLITS
from shiftbench.data.store import raw as raw_files

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


@dataclass(frozen=True)
class Settings(Transformations):
    dataset: Literal["digits", "mnist", "fashion-mnist", "cifar-10", "svhn"] = "digits"
    """Name of the images in the table of raw data."""
    test_size: Annotated[int, Ge(10)] = 597
    """Number of images of digits, which have no official split, for validation and test; the same
    images for all realisations. Without effect on other data."""
    validation: Annotated[int, Ge(0)] = 200
    """Number of test images, the first ones, that serve for validation; the paper has 5000."""
    judge_on: Literal["test", "validation"] = "test"
    """Images on which learners are judged; validation is for tuning, which never sees test
    images."""


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings exclude each other, with its remedy."""
    yield from excluded(settings)


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """Return the store: images, splits, maps [realisation, segment], indices into the images.

    shift, the segments and the maps are truth and reach no learner. Realisation r does not depend
    on the number of realisations and tasks. UserError if the raw files are wrong or have too few
    images, or if settings exclude each other.
    """
    images = _image_tasks.read(settings.dataset, Path(raw), settings.test_size)
    _check_sizes(settings, images)
    entry = raw_files.table()[settings.dataset]
    position = np.arange(len(images.label)) - images.n_train
    split = np.select([position < 0, position < settings.validation], [0, 1], 2).astype(np.uint8)
    attrs = {
        **entry.attributes(),
        "classes": int(images.label.max()) + 1,
        "judge_on": settings.judge_on,
    }
    store = _image_tasks.labelled(images.pixels, images.label, split, images.source, attrs)
    return transformed(settings, store, images.n_train)


def transformed(settings: Transformations, images: xr.Dataset, n_train: int) -> xr.Dataset:
    """Return the store of images with the maps, and the training images of each task."""
    store = images.assign_attrs(
        title=f"{images.attrs['title']}, under affine maps (li2021vbs, 4.2)",
        warm_up=int(settings.warm_up),
        shift_kind="covariate",
    )
    if settings.drift_width:
        store.attrs["drift_mode"] = settings.drift_mode
    if settings.warm_up:
        index = _warm_up_index(settings, n_train)
        store["warm_up_index"] = ("warm_up_sample", index, about("image of the warm-up"))
    return store.merge(_tasks(settings, n_train), combine_attrs="override")


def problem(store: xr.Dataset) -> Problem:
    """Return classification of the images; the warm-up counts as a task for n_train."""
    shape = tuple(store.sizes[name] for name in ("y", "x", "channel"))
    n_train = max(store.sizes["sample"], store.sizes.get("warm_up_sample", 0))
    classes = int(store.attrs["classes"])
    return Problem("classification", shape, classes, n_train, store.sizes["task"])


def task(store: xr.Dataset, realisations: Sequence[int], t: int) -> Task:
    """Return task t: inputs [S, n, y, x, channel] float32 in [0, 1], targets [S, n] int32.

    Validation and test data are all images of their split under the map of the task, None if the
    split is empty. If the store judges on validation, the validation images are the test data. Task
    -1 is the warm-up: training data alone, read-only, one copy for all repetitions.
    """
    if t == -1 and store.attrs["warm_up"]:
        return Task(_warm_up(store, len(realisations)), None, None)
    maps = [_segment_maps.warps(store, number, t) for number in realisations]
    train = store["train_index"].values[list(realisations), t]
    split = store["split"].values
    validation, test = (
        _segment_maps.batch(store, maps, np.broadcast_to(index, (len(maps), len(index))), name)
        if len(index := np.flatnonzero(split == SPLITS.index(name)))
        else None
        for name in SPLITS[1:]
    )
    return splits.judged(
        store, Task(_segment_maps.batch(store, maps, train, "train"), validation, test)
    )


def view(store: xr.Dataset, realisation: int, t: int, positions: np.ndarray) -> np.ndarray:
    """Return images `positions` [n] under the map of task t, [n, y, x, channel] in [0, 1]."""
    maps = _segment_maps.warps(store, realisation, t)
    return _segment_maps.warped(store, maps, positions, "view")


def _check_sizes(settings: Settings, images: Images) -> None:
    n_test = len(images.label) - images.n_train
    dataset, validation = settings.dataset, settings.validation
    _image_tasks.refuse_nothing_to_judge_on(dataset, validation, settings.judge_on)
    for name, value, most in (
        ("train_per_task", settings.train_per_task, images.n_train),
        ("warm_up_size", settings.warm_up_size, images.n_train),
        ("validation", validation, n_test - 1),
    ):
        if value > most:
            raise UserError(
                f"Stream transformed-images: {name} is {value}, but {dataset} allows"
                f" at most {most} ({images.n_train} training and {n_test} test images)."
            )


def _tasks(settings: Transformations, n_train: int) -> xr.Dataset:
    """Return what each realisation draws: its segments, maps and order of training images."""
    numbers = settings.first_realisation + np.arange(settings.realisations)
    truth = segments.stored(settings, numbers.tolist())
    orders = np.stack([_order(settings, n_train, number) for number in numbers.tolist()])
    dims, text = ("realisation", "task", "sample"), "training image, by position"
    truth["train_index"] = (dims, orders, about(text))
    return _segment_maps.drawn(settings, numbers.tolist()).merge(truth)


def _order(settings: Transformations, n_train: int, realisation: int) -> np.ndarray:
    """Draw the training images of each task [task, sample]."""
    first = [start for start in segments.starts(settings, realisation) if start < settings.tasks]
    rows = []
    for segment, (start, end) in enumerate(pairwise([*first, settings.tasks])):
        key = seeds.fold("transformed-images", "order", realisation, segment)
        shuffled = seeds.generator(key).permutation(n_train)
        rows.append(np.resize(shuffled, (end - start, settings.train_per_task)))  # starts over
    return np.concatenate(rows).astype(np.min_scalar_type(n_train - 1))


def _warm_up_index(settings: Transformations, n_train: int) -> np.ndarray:
    index = np.arange(n_train)
    if settings.warm_up_size:
        random = seeds.generator(seeds.fold("transformed-images", "warm-up"))
        index = np.sort(random.permutation(n_train)[: settings.warm_up_size])
    return index.astype(np.min_scalar_type(n_train - 1))


def _warm_up(store: xr.Dataset, repetitions: int) -> Batch:
    index = store["warm_up_index"].values
    inputs = store["images"].values[index].astype(np.float32) / np.float32(255)
    targets = store["label"].values[index].astype(np.int32)
    whole = Batch(inputs, targets, np.ones(len(index), bool))
    return Batch(*(np.broadcast_to(array, (repetitions, *array.shape)) for array in whole))

"""Image classification under affine maps that change every few tasks.

Source: li2021vbs, sections 4.2 and C.2. Each segment of tasks has one map that scales by
1 + N(0, scale_sd^2), turns by N(0, rotation_sd^2) degrees and moves by plus or minus Beta(a, b) of
the size, the same in x and y; it acts on all images, training and test. The first segment has no
map. As in the authors' code the training images are shuffled for each segment and cut into
consecutive batches, starting over at the end.

The paper makes each learner's first prior from the whole training set, untransformed: that is task
-1, the warm-up. Images are stored once; maps are applied when a task is read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt
from scipy.sparse import csr_array

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Problem, Task
from shiftbench.data import splits
from shiftbench.data.attributes import about
from shiftbench.data.images import _affine, _image_tasks
from shiftbench.data.images._pictures import Images
from shiftbench.data.splits import SPLITS
from shiftbench.data.store import raw as raw_files

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

SMALLEST_SCALE = 0.1
"""A smaller scale is drawn again (about 1 in 750 for scale_sd = 0.3): it would leave a dot, or
mirror the image, and at 0 it has no inverse. The authors do not guard against it."""


@dataclass(frozen=True, kw_only=True)
class Transformations:
    """The settings of maps that change every few tasks."""

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
    """Number of training images of a task; the authors' code has 20000."""
    rotation_sd: Annotated[float, Ge(0)] = 10.0
    """Standard deviation of the rotation, in degrees."""
    scale_sd: Annotated[float, Ge(0)] = 0.3
    """Standard deviation of the scale factor, whose mean is 1."""
    shift_beta: tuple[Annotated[float, Gt(0)], Annotated[float, Gt(0)]] = (1.0, 10.0)
    """The two parameters of the Beta distribution of the displacement, a fraction of the image's
    size."""
    strength: Annotated[float, Ge(0)] = 1.0
    """Factor of scale_sd, rotation_sd and the displacement. Streams that differ only in it have the
    same maps, stronger or weaker; 0: no map."""
    warm_up: bool = True
    """Whether a task -1 shows untransformed training images first, as in the paper."""
    warm_up_size: Annotated[int, Ge(0)] = 0
    """Number of training images in the warm-up, drawn once for all realisations; 0: all."""


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


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """Return the store: images, splits, maps [realisation, segment], indices into the images.

    shift, segment and the maps are truth and reach no learner. Realisation r does not depend on the
    number of realisations and tasks. UserError if the raw files are wrong or have too few images.
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
    )
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
    operators = [_operator(store, number, t) for number in realisations]
    train = store["train_index"].values[list(realisations), t]
    split = store["split"].values
    held_out = [np.flatnonzero(split == SPLITS.index(name)) for name in SPLITS[1:]]
    validation, test = (
        _batch(store, operators, np.broadcast_to(index, (len(operators), len(index))))
        if len(index)
        else None
        for index in held_out
    )
    return splits.judged(store, Task(_batch(store, operators, train), validation, test))


def view(store: xr.Dataset, realisation: int, t: int, positions: np.ndarray) -> np.ndarray:
    """Return images `positions` [n] under the map of task t, [n, y, x, channel] in [0, 1]."""
    operators = [_operator(store, realisation, t)]
    return _batch(store, operators, positions[np.newaxis]).inputs[0]


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
    """Return what each realisation draws: its maps and the order of its training images."""
    numbers, tasks = np.arange(settings.realisations), np.arange(settings.tasks)
    numbers += settings.first_realisation
    segments = range(math.ceil(settings.tasks / settings.tasks_per_segment))
    maps = np.array([[_map(settings, r, k) for k in segments] for r in numbers.tolist()])
    orders = np.stack([_order(settings, n_train, r, segments) for r in numbers.tolist()])
    changed = (tasks > 0) & (tasks % settings.tasks_per_segment == 0)
    by_segment, by_task = ("realisation", "segment"), ("realisation", "task")
    text = "displacement right and down, as a fraction of the size"
    return xr.Dataset(
        {
            "scale": (by_segment, maps[..., 0], about("scale factor of the map")),
            "rotation": (
                by_segment,
                maps[..., 1],
                about("rotation of the map, counter-clockwise", "degree"),
            ),
            "translation": (by_segment, maps[..., 2], about(text)),
            "train_index": ((*by_task, "sample"), orders, about("training image, by position")),
            "shift": (
                by_task,
                np.tile(changed, (settings.realisations, 1)),
                about("whether the map changed just before this task"),
            ),
            "segment_of_task": (
                "task",
                tasks // settings.tasks_per_segment,
                about("segment to which a task belongs"),
            ),
        },
        coords={
            "realisation": ("realisation", numbers, about("number of the realisation")),
            "task": ("task", tasks, about("number of the task")),
            "segment": ("segment", np.arange(maps.shape[1]), about("number of the segment")),
        },
    )


def _map(settings: Transformations, realisation: int, segment: int) -> tuple[float, float, float]:
    """Draw scale, rotation (degrees) and translation (fraction) of one segment."""
    if segment == 0:
        return 1.0, 0.0, 0.0
    random = seeds.generator(seeds.fold("transformed-images", "map", realisation, segment))
    scale = 0.0
    while scale < SMALLEST_SCALE:
        scale = 1 + settings.strength * settings.scale_sd * random.standard_normal()
    rotation = settings.strength * settings.rotation_sd * random.standard_normal()
    translation = random.choice([-1, 1]) * random.beta(*settings.shift_beta)
    return scale, rotation, settings.strength * translation


def _order(
    settings: Transformations, n_train: int, realisation: int, segments: range
) -> np.ndarray:
    """Draw the training images of each task [task, sample]."""
    shape = settings.tasks_per_segment, settings.train_per_task
    rows = []
    for segment in segments:
        key = seeds.fold("transformed-images", "order", realisation, segment)
        shuffled = seeds.generator(key).permutation(n_train)
        rows.append(np.resize(shuffled, shape))  # starts over at the end
    return np.concatenate(rows)[: settings.tasks].astype(np.min_scalar_type(n_train - 1))


def _warm_up_index(settings: Transformations, n_train: int) -> np.ndarray:
    index = np.arange(n_train)
    if settings.warm_up_size:
        random = seeds.generator(seeds.fold("transformed-images", "warm-up"))
        index = np.sort(random.permutation(n_train)[: settings.warm_up_size])
    return index.astype(np.min_scalar_type(n_train - 1))


def _operator(store: xr.Dataset, realisation: int, t: int) -> csr_array:
    """Return the warp of task t in one realisation."""
    place = realisation, int(store["segment_of_task"].values[t])
    scale, rotation, translation = (
        float(store[name].values[place]) for name in ("scale", "rotation", "translation")
    )
    size = store.sizes["y"], store.sizes["x"]
    return _affine.interpolation(_affine.matrix(scale, rotation, translation, *size), *size)


def _batch(store: xr.Dataset, operators: list[csr_array], index: np.ndarray) -> Batch:
    """Return the images `index` [S, n], each repetition under its own map."""
    images = store["images"].values
    inputs = np.empty((*index.shape, *images.shape[1:]), np.float32)
    for filled, operator, chosen in zip(inputs, operators, index, strict=True):
        filled[:] = _affine.warp(images[chosen], operator)
    targets = store["label"].values[index].astype(np.int32)
    return Batch(inputs, targets, np.ones(index.shape, bool))


def _warm_up(store: xr.Dataset, repetitions: int) -> Batch:
    index = store["warm_up_index"].values
    inputs = store["images"].values[index].astype(np.float32) / np.float32(255)
    targets = store["label"].values[index].astype(np.int32)
    whole = Batch(inputs, targets, np.ones(len(index), bool))
    return Batch(*(np.broadcast_to(array, (repetitions, *array.shape)) for array in whole))

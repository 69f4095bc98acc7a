"""Image classification in which each task has its own permutation of the pixels.

Source: eschenhagen2019vogn, section 4.3: each task is the whole data set under one fixed random
permutation. Each realisation has its own permutations, whereas the public code of VOGN and of VCL
has one set of them for all seeds. Tasks of one segment can share a permutation: the schedules of
`data/segments.py`, which are ours. In a drift each image of a task has the permutation of the
segment that is coming or that of the segment before. With a single head all tasks share the
outputs; with several heads each row gives its task, as UCB and HAT need it.

After each task learners are judged on all tasks so far (`test`). Images are stored once; a task is
a seed, and its permutation is applied when the task is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
from shiftbench.data.images import _image_tasks
from shiftbench.data.images._image_tasks import Part
from shiftbench.data.images._permuted_tasks import PermutedTasks, refuse_size
from shiftbench.data.segments import Segments, excluded
from shiftbench.data.splits import SPLITS

FACTS = Facts(
    gives={
        "image": True,
        "tests": True,
        "earlier-tests": True,
        "shifts": True,
        "returns": {"schedule": ("recurring", "recurring-twin")},
        "heads": {"heads": ("multi",), "not tasks": (1,)},
    },
    varies={"permutations": True, "choices of training images": {"not train_per_task": (0,)}},
)


@dataclass(frozen=True)
class Settings(Segments, PermutedTasks):
    tasks: Annotated[int, Ge(1)] = 10
    """Number of tasks; the papers have 10."""
    tasks_per_segment: Annotated[int, Ge(1)] = 1
    """Number of tasks with the same permutation; the mean number unless the schedule is regular.
    1, as in the papers: each task has its own permutation."""
    train_per_task: Annotated[int, Ge(0)] = 0
    """Number of training images of a task, drawn for each task, of each class in proportion; 0:
    all, as in the papers."""
    first_task: Literal["permuted", "identity"] = "permuted"
    """permuted: task 0 is permuted like all others, as in eschenhagen2019vogn, VCL's code and UCB.
    identity: task 0 has the original images, as in improved VCL."""
    heads: Literal["single", "multi"] = "single"
    """multi: each task has its own outputs, and each row gives its task, as in UCB and HAT.
    single: all tasks share the outputs, as in the other papers."""


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings exclude each other, with its remedy."""
    yield from excluded(settings)
    if settings.drift_width and settings.drift_mode == "morph":
        yield "no permutation lies between two others; set drift_mode to mixture"


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """Return the store: images, splits, and a seed for each task [realisation, task].

    shift and the segments are truth and reach no learner. A realisation does not depend on the
    number of realisations and tasks. UserError if the raw files are wrong or have too few images,
    or if settings exclude each other.
    """
    for reason in unsupported(settings):
        raise UserError(f"Stream permuted-images: {reason}.")
    images = _image_tasks.read(settings.dataset, Path(raw), settings.test_size)
    store = _image_tasks.base(settings.dataset, images, settings.validation, settings.judge_on)
    if settings.train_per_task:
        size, besides = settings.train_per_task, ", or 0 for all"
        refuse_size("permuted-images", settings, size, images.n_train, besides)
    drawn = _image_tasks.drawn(
        "permuted-images", settings.first_realisation, settings.realisations, settings.tasks
    )
    numbers, dimension, kind = np.arange(settings.tasks), "task", {}
    if settings.schedule != "regular" or settings.tasks_per_segment > 1:
        drawn, numbers = _in_segments(settings, drawn), np.array(segments.concepts(settings))
        dimension, kind = "segment", {"shift_kind": "covariate"}
    permuted = numbers >= (settings.first_task == "identity")
    store["permuted"] = (dimension, permuted, about("whether the pixels are permuted"))
    store = store.merge(drawn, combine_attrs="override").assign_attrs(kind)
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
    """Return which pixel of the image, row by row, comes at each position in task t [pixels].

    In a drift it is that of the segment that is coming.
    """
    return _order(store, realisation, _segment(store, realisation, t))


def _in_segments(settings: Settings, drawn: xr.Dataset) -> xr.Dataset:
    """Return the seeds of tasks with the truth about segments, and the permutation of each."""
    truth = segments.stored(settings, drawn["realisation"].values.tolist())
    text = about("number of the permutation of the segment; equal numbers are the same one")
    truth["permutation_of_segment"] = ("segment", segments.concepts(settings), text)
    return drawn.drop_vars("shift").merge(truth)


def _segment(store: xr.Dataset, realisation: int, t: int) -> int:
    """Return the segment of a task; without segments each task is one."""
    return int(store["segment_of_task"].values[realisation, t]) if "segment" in store.dims else t


def _order(store: xr.Dataset, realisation: int, segment: int) -> np.ndarray:
    """Return the permutation of a segment, as `permutation` does."""
    size = store.sizes["y"] * store.sizes["x"]
    if not store["permuted"].values[segment]:
        return np.arange(size)
    number = segment
    if "permutation_of_segment" in store:
        number = int(store["permutation_of_segment"].values[segment])
    key = seeds.fold("permuted-images", int(store["realisation"].values[realisation]), number)
    return seeds.generator(key).permutation(size)


def _batch(store: xr.Dataset, realisations: Sequence[int], t: int, split: str) -> Batch:
    rows = np.flatnonzero(store["split"].values == SPLITS.index(split))
    first = t * store.attrs["classes"] if store.attrs["heads"] > 1 else 0
    label = store["label"].values
    parts = []
    for realisation in realisations:
        chosen = _drawn(store, realisation, t, rows) if split == "train" else rows
        order = _orders(store, realisation, t, split, len(chosen))
        parts.append(Part(chosen, first + label[chosen], order))
    return _image_tasks.batch(store, parts, len(parts[0].rows), t)


def _orders(store: xr.Dataset, realisation: int, t: int, split: str, n: int) -> np.ndarray:
    """Return the permutation of task t, [pixels], or in a drift those of n images, [n, pixels]."""
    new = permutation(store, realisation, t)
    share = float(store["new_share"].values[realisation, t]) if "new_share" in store else 1.0
    if share == 1:
        return new
    old = _order(store, realisation, _segment(store, realisation, t) - 1)
    number = int(store["realisation"].values[realisation])
    key = seeds.fold("permuted-images", "mixture", number, t, split)
    is_new = seeds.generator(key).random(n) < share
    return np.where(is_new[:, np.newaxis], new, old)


def _drawn(store: xr.Dataset, realisation: int, t: int, rows: np.ndarray) -> np.ndarray:
    """Return the training images of a task."""
    number = store.attrs["train_per_task"]
    if number == len(rows):
        return rows
    words = store["seed"].values[realisation, t][np.newaxis]
    random = seeds.generator(seeds.fold_each(words, "images")[0])
    return rows[splits.stratified(store["label"].values[rows], number, random)]

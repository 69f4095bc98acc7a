"""Image classification under one kind of shift, or none: of images, class shares or labels.

Streams that differ only in `change` have the same images, segments and rows until the first change.
So the accuracy that is lost after it is due to the kind of change:

    map     covariate shift: the affine map of the images, as in transformed-images
    rows    covariate shift: images are drawn with weights exp(tilt x), x their mean brightness
    shares  label shift: class shares follow a Dirichlet distribution, images given classes stay
    labels  concept shift: the classes are permuted, images stay
    none    nothing changes, though rows are shuffled where another stream would change

Learners are judged on test images of the distribution of the task: under its map, drawn with its
weights, or with its labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Gt

from shiftbench.core import seeds
from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Task
from shiftbench.data import segments, splits
from shiftbench.data.attributes import about
from shiftbench.data.images import _segment_maps, transformed_images
from shiftbench.data.images.transformed_images import Settings as TransformedImages
from shiftbench.data.images.transformed_images import problem, view
from shiftbench.data.segments import excluded
from shiftbench.data.splits import SPLITS
from shiftbench.data.store import raw as raw_files

FACTS = Facts(
    gives={
        "image": True,
        "tests": True,
        "shifts": True,
        "maps": {"change": ("map",)},
        "returns": {"schedule": ("recurring", "recurring-twin"), "not change": ("none",)},
        "warm-up": {"warm_up": (True,)},
    },
    varies=("what changes", "orders of the images"),
)

__all__ = ["Settings", "build", "problem", "task", "unsupported", "view"]

KINDS = {
    "map": "covariate",
    "rows": "covariate",
    "shares": "label",
    "labels": "concept",
    "none": "none",
}
"""The kind of shift in the distribution of images and classes that each change is."""
TITLES = {
    "map": "under affine maps",
    "rows": "brighter or darker ones more often",
    "shares": "with changing class shares",
    "labels": "with permuted labels",
    "none": "unchanged",
}

VARIABLES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "rows": ("tilt", (), "exponent of the brightness in the weight of an image"),
    "shares": ("class_share", ("class",), "share of a class among the rows of the segment"),
    "labels": ("label_of_class", ("class",), "label that the segment gives to a class"),
}
"""Variable of the store with what changes: name, dimensions after the segment, meaning."""


@dataclass(frozen=True)
class Settings(TransformedImages):
    change: Literal["map", "rows", "shares", "labels", "none"] = "map"
    """map: the affine map of the images. rows: the chance of bright and of dark images. shares: the
    shares of the classes. labels: the class that each label means. none: nothing."""
    tilt: Annotated[float, Gt(0)] = 2.0
    """For rows: the largest number of standard deviations by which the mean brightness moves; each
    segment has a number between minus this and this."""
    concentration: Annotated[float, Gt(0)] = 0.3
    """For shares: the parameter of the Dirichlet distribution of the class shares of a segment;
    smaller: fewer classes have nearly all rows."""


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings exclude each other, with its remedy."""
    yield from excluded(settings)
    if settings.drift_width and settings.change != "map":
        yield "only maps change gradually; set drift_width to 0, or change to map"


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """Return the store of transformed-images, with what changes in place of its maps.

    UserError if the raw files are wrong or have too few images, or if settings exclude each other.
    """
    of_maps = settings if settings.change == "map" else replace(settings, strength=0.0)
    store = transformed_images.build(of_maps, raw)
    title = raw_files.table()[settings.dataset].attributes()["title"]
    store = store.assign_attrs(
        title=f"{title}, {TITLES[settings.change]}",
        change=settings.change,
        shift_kind=KINDS[settings.change],
    )
    changed = np.array(segments.concepts(settings)) > 0 if not settings.concepts else True
    number = store.sizes["segment"]
    text = about("whether the distribution of the segment is not that of all images")
    store["changed"] = ("segment", np.broadcast_to(changed, number), text)
    if settings.change == "none":
        store["shift"] = store["shift"].copy(data=np.zeros_like(store["shift"].values))
    return _with_change(settings, store)


def task(store: xr.Dataset, realisations: Sequence[int], t: int) -> Task:
    """Return task t: inputs [S, n, y, x, channel] float32 in [0, 1], targets [S, n] int32.

    Validation and test data are as many images as their split has, those that the distribution of
    the task draws. If the store judges on validation, the validation images are the test data. Task
    -1 is the warm-up.
    """
    if t == -1 and store.attrs["warm_up"]:
        return transformed_images.task(store, realisations, t)
    train, validation, test = (_batch(store, realisations, t, name) for name in SPLITS)
    assert train is not None
    return splits.judged(store, Task(train, validation, test))


def _with_change(settings: Settings, store: xr.Dataset) -> xr.Dataset:
    """Add what changes from segment to segment, in place of the map."""
    if settings.change in ("map", "none"):
        return store
    name, dims, text = VARIABLES[settings.change]
    numbers, concepts = store["realisation"].values.tolist(), segments.concepts(settings)
    is_training = store["split"].values == SPLITS.index("train")
    usual = _usual(settings, store["label"].values[is_training], store.attrs["classes"])
    drawn = np.array(
        [[_drawn(settings, usual, number, concept) for concept in concepts] for number in numbers]
    )
    drawn[:, ~store["changed"].values] = usual
    store[name] = (("realisation", "segment", *dims), drawn, about(text))
    if settings.change == "rows":
        level = store["images"].values.mean(axis=(1, 2, 3))
        score = (level - level[is_training].mean()) / level[is_training].std()
        text = "mean brightness, standardised on the training images"
        store["brightness"] = ("image", score, about(text))
    return store


def _usual(settings: Settings, labels: np.ndarray, classes: int) -> np.ndarray:
    """Return the value of a segment whose distribution is that of all training images."""
    if settings.change == "shares":
        return np.bincount(labels, minlength=classes) / len(labels)
    return np.arange(classes) if settings.change == "labels" else np.zeros(())


def _drawn(settings: Settings, usual: np.ndarray, realisation: int, concept: int) -> np.ndarray:
    """Draw the tilt, the class shares or the labels of one distribution, of the shape of `usual`.

    The seed does not depend on what is drawn.
    """
    random = seeds.generator(seeds.fold("shifted-images", "change", realisation, concept))
    if settings.change == "rows":
        return np.array(random.uniform(-settings.tilt, settings.tilt))
    if settings.change == "shares":
        return random.dirichlet(np.full(usual.shape, settings.concentration))
    return random.permutation(usual)


def _batch(store: xr.Dataset, realisations: Sequence[int], t: int, split: str) -> Batch | None:
    """Return a split of task t; None if the split is empty."""
    rows = np.stack([_rows(store, number, t, split) for number in realisations])
    if not rows.size:
        return None
    maps = [_segment_maps.warps(store, number, t) for number in realisations]
    batch = _segment_maps.batch(store, maps, rows, split)
    if "label_of_class" not in store:
        return batch
    place = list(realisations), store["segment_of_task"].values[list(realisations), t]
    labels = store["label_of_class"].values[place]
    targets = np.take_along_axis(labels, batch.targets, axis=1).astype(np.int32)
    return batch._replace(targets=targets)


def _rows(store: xr.Dataset, realisation: int, t: int, split: str) -> np.ndarray:
    """Return the positions of the images of a split of task t, drawn where rows or shares change.

    Held-out images are drawn once for a segment.
    """
    pool = np.flatnonzero(store["split"].values == SPLITS.index(split))
    usual = store["train_index"].values[realisation, t] if split == "train" else pool
    segment = int(store["segment_of_task"].values[realisation, t])
    weight = weights(store, realisation, segment, pool)
    if weight is None or not store["changed"].values[segment]:
        return usual
    number, of = int(store["realisation"].values[realisation]), t if split == "train" else segment
    random = seeds.generator(seeds.fold("shifted-images", "rows", number, of, split))
    return random.choice(pool, len(usual), p=weight)


def weights(
    store: xr.Dataset, realisation: int, segment: int, rows: np.ndarray
) -> np.ndarray | None:
    """Return the chance of each of some images [n] in a segment; None where all have the same."""
    if "tilt" in store:
        exponent = store["tilt"].values[realisation, segment] * store["brightness"].values[rows]
        weight = np.exp(exponent - exponent.max(initial=0))
    elif "class_share" in store:
        labels = store["label"].values[rows]
        counts = np.bincount(labels, minlength=store.attrs["classes"])
        weight = store["class_share"].values[realisation, segment][labels] / counts[labels]
    else:
        return None
    return weight / weight.sum()

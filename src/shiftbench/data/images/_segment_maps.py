"""Affine maps of the segments of a stream: settings, draws, and the warps of a task.

Source: li2021vbs, section C.2. In a mixture each image of a task is under the map of the segment
that is coming or under that of the segment before; in a morph all images are under one map, whose
scale, rotation and translation lie between theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt
from scipy.sparse import csr_array

from shiftbench.core import seeds
from shiftbench.core.interface import Batch
from shiftbench.data import segments
from shiftbench.data.attributes import about
from shiftbench.data.images import _affine
from shiftbench.data.segments import Segments

SMALLEST_SCALE = 0.1
"""A smaller scale is drawn again (about 1 in 750 for scale_sd = 0.3): it would leave a dot, or
mirror the image, and at 0 it has no inverse. The authors do not guard against it."""
PARAMETERS = {
    "scale": about("scale factor of the map"),
    "rotation": about("rotation of the map, counter-clockwise", "degree"),
    "translation": about("displacement right and down, as a fraction of the size"),
}


@dataclass(frozen=True, kw_only=True)
class Transformations(Segments):
    """The settings of maps that change with the segments; the paper has 100 tasks."""

    realisations: Annotated[int, Ge(1)] = 5
    """Number of independent realisations (segments, maps and order of the training images); seed s
    uses realisation s modulo this."""
    first_realisation: Annotated[int, Ge(0)] = 0
    """Number of the first realisation. Tuning starts beyond the judged realisations, so that it
    sees none of their maps."""
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


class Warps(NamedTuple):
    """The warps of a task, as sparse matrices [pixels, pixels].

    new : warp of its segment. old : warp of the segment before, None without a mixture. share :
    probability that an image is under `new`. key : of the draws that decide it, without the split.
    """

    new: csr_array
    old: csr_array | None
    share: float
    key: tuple[str | int, ...]


def drawn(settings: Transformations, numbers: Sequence[int]) -> xr.Dataset:
    """Return the parameters of the map of each segment [realisation, segment]."""
    concepts = segments.concepts(settings)
    maps = np.array([[_map(settings, number, one) for one in concepts] for number in numbers])
    by_segment = ("realisation", "segment")
    columns = zip(PARAMETERS.items(), np.moveaxis(maps, -1, 0), strict=True)
    return xr.Dataset({name: (by_segment, values, attrs) for (name, attrs), values in columns})


def warps(store: xr.Dataset, realisation: int, t: int) -> Warps:
    """Return the warps of task t in the realisation at a position of the store."""
    segment = int(store["segment_of_task"].values[realisation, t])
    share = float(store["new_share"].values[realisation, t]) if "new_share" in store else 1.0
    key = ("transformed-images", "mixture", int(store["realisation"].values[realisation]), t)
    new = _parameters(store, realisation, segment)
    if share == 1:
        return Warps(_warp(store, new), None, 1.0, key)
    old = _parameters(store, realisation, segment - 1)
    if store.attrs["drift_mode"] == "morph":
        return Warps(_warp(store, share * new + (1 - share) * old), None, 1.0, key)
    return Warps(_warp(store, new), _warp(store, old), share, key)


def warped(store: xr.Dataset, maps: Warps, positions: np.ndarray, split: str) -> np.ndarray:
    """Return images `positions` [n] as a split of a task shows them, [n, y, x, channel] float32."""
    images = store["images"].values[positions]
    if maps.old is None:
        return _affine.warp(images, maps.new)
    draws = seeds.generator(seeds.fold(*maps.key, split)).random(len(images))
    is_new = (draws < maps.share)[:, np.newaxis, np.newaxis, np.newaxis]
    return np.where(is_new, _affine.warp(images, maps.new), _affine.warp(images, maps.old))


def batch(store: xr.Dataset, maps: Sequence[Warps], index: np.ndarray, split: str) -> Batch:
    """Return the images `index` [S, n] of a split of a task, each repetition under its own maps."""
    inputs = np.empty((*index.shape, *store["images"].shape[1:]), np.float32)
    for filled, of_task, chosen in zip(inputs, maps, index, strict=True):
        filled[:] = warped(store, of_task, chosen, split)
    targets = store["label"].values[index].astype(np.int32)
    return Batch(inputs, targets, np.ones(index.shape, bool))


def _map(settings: Transformations, realisation: int, concept: int) -> tuple[float, float, float]:
    """Draw scale, rotation (degrees) and translation (fraction) of one distribution.

    The first distribution has no map, except in schedules where it comes back. There, a learner
    that restarts from the warm-up, which has no map, would know this distribution when it returns,
    even without a memory.
    """
    if concept == 0 and not settings.concepts:
        return 1.0, 0.0, 0.0
    random = seeds.generator(seeds.fold("transformed-images", "map", realisation, concept))
    scale = 0.0
    while scale < SMALLEST_SCALE:
        scale = 1 + settings.strength * settings.scale_sd * random.standard_normal()
    rotation = settings.strength * settings.rotation_sd * random.standard_normal()
    translation = random.choice([-1, 1]) * random.beta(*settings.shift_beta)
    return scale, rotation, settings.strength * translation


def _parameters(store: xr.Dataset, realisation: int, segment: int) -> np.ndarray:
    """Return scale, rotation and translation of a segment [3]."""
    return np.array([store[name].values[realisation, segment] for name in PARAMETERS])


def _warp(store: xr.Dataset, parameters: np.ndarray) -> csr_array:
    size = store.sizes["y"], store.sizes["x"]
    scale, rotation, translation = parameters.tolist()
    return _affine.interpolation(_affine.matrix(scale, rotation, translation, *size), *size)

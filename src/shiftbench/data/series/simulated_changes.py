"""A simulated series with known changes and known outliers, to compare detectors.

A value is y_t = level + u_t, u_t = coefficient u_{t-1} + noise, noise N(0, 1). One of the three
numbers level, noise variance or coefficient changes, there and back again. An outlier is a value to
which a wrong measurement has added a constant; the series itself goes on as if nothing had been.
Rows and regressors are those of the family `series`.

All settings share the random draws: a realisation has the same noise whatever changes and by how
much, so that series differ in the change alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt, Interval

from shiftbench.core import seeds
from shiftbench.core.facts import Facts
from shiftbench.data.attributes import about
from shiftbench.data.series._series_store import BY_TASK, Series, View, stored
from shiftbench.data.series._series_store import problem as problem
from shiftbench.data.series._series_store import task as task
from shiftbench.data.series._series_store import training_rows as training_rows
from shiftbench.data.store import raw as raw_files

FACTS = Facts(
    gives=("design", "series", "one-row", "shifts", "outliers"),
    varies=("noise", "places of changes and outliers, where they are drawn"),
)

NAME = "simulated-changes"
BURN_IN = 100


@dataclass(frozen=True)
class Settings:
    realisations: Annotated[int, Ge(1)] = 10
    """Number of independent realisations."""
    points: Annotated[int, Ge(2)] = 2000
    """Number of values."""
    changes: Annotated[int, Ge(0)] = 1
    """Number of changes; segments have equal lengths, and every other one is like the first."""
    place: Literal["even", "random"] = "even"
    """random: each change is moved by up to a quarter of a segment, earlier or later, drawn for
    each realisation."""
    changing: Literal["mean", "variance", "coefficient"] = "mean"
    """Parameter that changes."""
    size: Annotated[float, Gt(0)] = 1.0
    """Change of the mean in standard deviations of the noise, factor of its variance, or what is
    added to the coefficient."""
    coefficient: Annotated[float, Interval(gt=-1, lt=1)] = 0.0
    """Coefficient of the last value in the first segment; 0: values are independent."""
    outliers: Annotated[float, Interval(ge=0, lt=0.5)] = 0.0
    """Share of the values that are outliers."""
    burst: Annotated[int, Ge(1)] = 1
    """Number of outliers in a row, all of one sign; bursts may meet."""
    outlier_size: Annotated[float, Gt(0)] = 10.0
    """Constant that is added to an outlier or subtracted from it, in standard deviations of the
    noise in the first segment."""
    regressors: Literal["constant", "own-lag"] = "constant"
    """constant: a level. own-lag: an intercept and the last value; the first value has no row."""


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings exclude each other, with its remedy."""
    if settings.changing == "coefficient" and settings.coefficient + settings.size >= 1:
        yield (
            f"coefficient {settings.coefficient:g} and size {settings.size:g} give a series that"
            " runs away; together they must stay below 1"
        )
    if settings.changing == "variance" and settings.size == 1:
        yield "size 1 leaves the variance as it is; take another factor, or changes: 0"
    if settings.points < 4 * (settings.changes + 1):
        yield (
            f"{settings.points} points are too few for {settings.changes} changes; a segment needs"
            " four: raise points or lower changes"
        )


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """Return the store of `_series_store.stored`, and outlier [realisation, task] bool, truth."""
    numbers = range(settings.realisations)
    starts = np.array([_starts(settings, number) for number in numbers])
    value = np.stack([_clean(settings, number, starts[number]) for number in numbers])
    added = np.stack([_added(settings, number) for number in numbers])
    seen = Series(
        value=(value + settings.outlier_size * added)[..., None],
        time=1 + np.arange(settings.points),
        names=["value"],
        units="1",
        truth="known",
        changes=[],
    )
    entry = raw_files.Dataset("Simulated series with known changes", "MIT; generated", "", {})
    store = stored(NAME, seen, View(settings.regressors, "none", "none", 1), entry)
    position = store["position"].values - 1
    shift = (position == starts[:, 1:, None]).any(axis=1)
    store["shift"] = (BY_TASK, shift, store["shift"].attrs)
    store["outlier"] = (BY_TASK, added[:, position] != 0, about("whether this value is an outlier"))
    return store.assign_attrs({} if settings.changes else {"change": "none"})


def _starts(settings: Settings, realisation: int) -> np.ndarray:
    """Return the first value of each segment, from 0."""
    length = settings.points / (settings.changes + 1)
    starts = length * np.arange(settings.changes + 1)
    if settings.place == "random":
        random = seeds.generator(seeds.fold(NAME, "place", realisation))
        starts[1:] += length / 4 * random.uniform(-1, 1, settings.changes)
    return np.round(starts).astype(int)


def _clean(settings: Settings, realisation: int, starts: np.ndarray) -> np.ndarray:
    """Draw the values without outliers [points]."""
    random = seeds.generator(seeds.fold(NAME, "noise", realisation))
    noise = random.standard_normal(BURN_IN + settings.points)
    segment = np.searchsorted(starts, np.arange(settings.points), side="right") - 1
    changed = np.concatenate([np.zeros(BURN_IN, bool), segment % 2 == 1])
    of = {
        kind: changed & (settings.changing == kind) for kind in ("mean", "variance", "coefficient")
    }
    noise = noise * np.where(of["variance"], np.sqrt(settings.size), 1.0)
    slope = settings.coefficient + settings.size * of["coefficient"]
    around = noise.tolist()
    for t, factor in enumerate(slope[1:].tolist(), start=1):
        around[t] += factor * around[t - 1]
    return (np.array(around) + settings.size * of["mean"])[BURN_IN:]


def _added(settings: Settings, realisation: int) -> np.ndarray:
    """Draw the signs of outliers [points], 0 for other values."""
    random = seeds.generator(seeds.fold(NAME, "outliers", realisation))
    begins = random.random(settings.points)
    signs = random.choice([-1.0, 1.0], settings.points)
    # So that the share of values in no burst is 1 - outliers, whatever the length of bursts.
    rate = 1 - (1 - settings.outliers) ** (1 / settings.burst)
    added = np.zeros(settings.points)
    for t in np.flatnonzero(begins < rate):
        added[t : t + settings.burst] = signs[t]
    return added

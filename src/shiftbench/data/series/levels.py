"""A simulated series of given levels, with a given number of outliers: contaminated segments.

Source: M. Altamirano, F.-X. Briol and J. Knoblauch, 2023, ICML (altamirano2023dsm), whose notebook
on accuracy and delay has these defaults: noise N(0, 1), and 2 % of the values moved by 10 up or
down. The last level is read off the mean of its data. Here each realisation has its own noise;
theirs has one, and ten contaminations of it. All settings share the draws of the noise, and
larger sets of outliers contain the smaller ones. Rows and regressors are those of the family
`series`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt, Interval, MinLen

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
    varies=("noise", "places and signs of outliers"),
)
NAME = "levels"


@dataclass(frozen=True)
class Settings:
    realisations: Annotated[int, Ge(1)] = 10
    """Number of independent realisations."""
    levels: Annotated[tuple[float, ...], MinLen(1)] = (10.0, 5.0, 0.0, 10.0, 5.0, 12.0, 0.0)
    """Mean of each segment, in standard deviations of the noise."""
    lengths: Annotated[tuple[Annotated[int, Ge(2)], ...], MinLen(1)] = (
        100, 100, 100, 50, 50, 50, 50,
    )  # fmt: skip
    """Number of values of each segment."""
    outliers: Annotated[float, Interval(ge=0, lt=0.5)] = 0.02
    """Share of the values that are outliers; exact, up to rounding, in each realisation."""
    outlier_size: Annotated[float, Gt(0)] = 10.0
    """Constant that is added to an outlier or subtracted from it."""
    regressors: Literal["constant", "own-lag"] = "constant"
    """constant: a level. own-lag: an intercept and the last value; the first value has no row."""


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings exclude each other, with its remedy."""
    if len(settings.levels) != len(settings.lengths):
        yield (
            f"there are {len(settings.levels)} levels and {len(settings.lengths)} lengths; write"
            " one of each for every segment"
        )


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """Return the store of `_series_store.stored`, and outlier [realisation, task] bool, truth."""
    level = np.repeat(settings.levels, settings.lengths)
    added = np.stack([_added(settings, len(level), r) for r in range(settings.realisations)])
    noise = [_random("noise", r).standard_normal(len(level)) for r in range(settings.realisations)]
    seen = Series(
        value=(level + np.stack(noise) + settings.outlier_size * added)[..., None],
        time=1 + np.arange(len(level)),
        names=["value"],
        units="1",
        truth="known",
        changes=list(np.cumsum(settings.lengths[:-1])),
    )
    entry = raw_files.Dataset("Simulated series of given levels", "MIT; generated", "", {})
    store = stored(NAME, seen, View(settings.regressors, "none", "none", 1), entry)
    position = store["position"].values - 1
    store["outlier"] = (BY_TASK, added[:, position] != 0, about("whether this value is an outlier"))
    return store.assign_attrs({} if len(settings.levels) > 1 else {"change": "none"})


def _added(settings: Settings, points: int, realisation: int) -> np.ndarray:
    """Draw the signs of outliers [points], 0 for other values."""
    random = _random("outliers", realisation)
    places = random.permutation(points)[: round(settings.outliers * points)]
    added = np.zeros(points)
    added[places] = random.choice([-1.0, 1.0], points)[places]
    return added


def _random(what: str, realisation: int) -> np.random.Generator:
    """Return the generator of one kind of draws of a realisation."""
    return seeds.generator(seeds.fold(NAME, what, realisation))

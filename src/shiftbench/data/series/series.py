"""Time series, one or more values a step, with regressors made of their own past.

Source: knoblauch2018robust, section 5 and Fig. 1B. Real series are the Nile, the well-log and
London's nitrogen oxides; the simulated ones are the five autoregressions of Fig. 1B, and some
that do not change.

A row is one step: targets y [d] and, for each model m of the learner's set, a design matrix
X_m [d, p], y ~ X_m beta. Designs are made when a task is read. With regressors from the past
the first value of the series has no row, so that task 0 is the second value; the coordinate
`position` tells where a task starts, counted from 1 in the values of the series.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt, Le

from shiftbench.core.errors import UserError
from shiftbench.core.facts import Facts
from shiftbench.data.series import _london_nox, _series_data
from shiftbench.data.series._series_store import Series, View, described, stored
from shiftbench.data.series._series_store import problem as problem
from shiftbench.data.series._series_store import task as task
from shiftbench.data.series._simulated_ar import Noise
from shiftbench.data.store import raw as raw_data

FACTS = Facts(
    gives={
        "design": {"not regressors": ("neighbours",)},
        "designs": {"regressors": ("neighbours",)},
        "series": True,
        "one-row": {"rows_per_task": (1,)},
        "blocks": {"not rows_per_task": (1,)},
        "shifts": {"not dataset": ("london-nox",)},
        "unknown-truth": {"dataset": ("london-nox",)},
    },
    varies={"simulated series": {"dataset": ("simulated-ar", "stationary-ar")}},
    ahead={
        "values are scaled by the whole series": {"not scaling": ("none",)},
        "values are centred on the mean of the whole series": {"centre": ("whole-series",)},
    },
)


@dataclass(frozen=True)
class Settings:
    dataset: Literal["nile", "well-log", "london-nox", "simulated-ar", "stationary-ar"] = (
        "simulated-ar"
    )
    """The series; an entry of the table of raw data."""
    realisations: Annotated[int, Ge(1)] = 8
    """Number of independent realisations of simulated series; real ones have one."""
    regressors: Literal["constant", "own-lag", "own-level-and-lag", "neighbours"] = "own-lag"
    """constant: a level for each series. own-lag: a common intercept and each series' own last
    value; own-level-and-lag: an intercept of its own as well. neighbours: the three models of
    london-nox, with an intercept and the own last value for each station; two of them add sums over
    the rings around it, by road or straight."""
    rings: Annotated[int, Ge(0), Le(5)] = 1
    """Number of rings in `neighbours`. The authors' script asks for one, of 0 to 10 (1), but
    their code leaves it out, which is 0: three times the same model."""
    scaling: Literal["none", "z-score", "z-score-jointly"] = "none"
    """z-score: less the mean, by the standard deviation, of each series, as the paper does for
    london-nox; jointly: of all values together, as it does for simulated-ar. Both use the whole
    series, which no one has at its start (a look-ahead)."""
    centre: Literal["none", "first", "whole-series"] = "none"
    """What is subtracted before the scaling: the first value, or the mean of the whole series
    (a look-ahead; the authors put it into the prior of well-log)."""
    rows_per_task: Annotated[int, Ge(1)] = 1
    """Number of steps in a task."""
    series: Annotated[int, Ge(1)] = 5
    """Number of simulated series; the others have their own."""
    contaminated: Annotated[int, Ge(0)] = 1
    """Number of series of simulated-ar, the first ones, with added t_4 noise."""
    contamination_scale: Annotated[float, Gt(0)] = 2.23606797749979
    """Factor of the t_4 noise; the square root of 5 in the authors' code."""
    contamination_threshold: float = 3.0
    """Noise below this is set to 0, so that outliers are positive; 3 in the authors' code."""
    innovations: Literal["fresh", "shared"] = "fresh"
    """Whether the segments of simulated-ar have innovations of their own, or share them as in
    the authors' code; realisation 0 of `shared` is the data set of the paper's Fig. 1B."""


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """The store of the series, see `_series_store.stored`.

    UserError where the raw files are wrong, the regressors do not go with the data, or a series
    does not vary.
    """
    if settings.regressors == "neighbours" and settings.dataset != "london-nox":
        raise UserError(
            f"Stream series: regressors neighbours need dataset london-nox, not {settings.dataset}."
            " Use own-lag."
        )
    series = _read(settings, Path(raw))
    view = View(settings.regressors, settings.scaling, settings.centre, settings.rows_per_task)
    store = stored(settings.dataset, series, view, raw_data.table()[settings.dataset])
    if settings.regressors == "neighbours":
        store = _with_neighbours(store, Path(raw), settings.rings)
    return store


def _read(settings: Settings, raw: Path) -> Series:
    if settings.dataset == "nile":
        return _series_data.nile()
    if settings.dataset == "well-log":
        return _series_data.well_log(raw)
    if settings.dataset == "london-nox":
        return _series_data.london_nox(raw)
    if settings.dataset == "stationary-ar":
        return _series_data.stationary_ar(settings.realisations, settings.series)
    noise = Noise(
        settings.contaminated, settings.contamination_scale, settings.contamination_threshold
    )
    return _series_data.simulated_ar(
        settings.realisations, settings.series, noise, settings.innovations
    )


def _with_neighbours(store: xr.Dataset, raw: Path, rings: int) -> xr.Dataset:
    """The store with the three models of london-nox, and who is in which ring of each."""
    store["neighbour"] = (
        ("model", "ring", "series", "other"),
        _london_nox.neighbours(raw, rings),
        described("whether the other series is in this ring around a series"),
    )
    models = np.array(["own-lag", *_london_nox.DISTANCES])
    return store.assign_coords(model=("model", models, described("model of the set")))

"""Time series, one or more values a step, with regressors made of their own past.

Source: knoblauch2018robust, section 5 and Fig. 1B: the Nile, the well-log, London's nitrogen
oxides, and five simulated autoregressions; and autoregressions that do not change. Other real
series are returns of stocks, a person's glucose, and others; `simulated-correlation` is a twin of
the stocks with known changes. For rows, positions, gaps and horizons see `_series_store`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt, Le

from shiftbench.core.errors import UserError
from shiftbench.core.facts import Facts
from shiftbench.data.attributes import about
from shiftbench.data.series import (
    _london_nox,
    _nile,
    _plain_series,
    _simulated_ar,
    _simulated_correlation,
    _stationary_ar,
    _stocks,
    _well_log,
)
from shiftbench.data.series._series_store import Series, View, stored
from shiftbench.data.series._series_store import problem as problem
from shiftbench.data.series._series_store import task as task
from shiftbench.data.series._series_store import training_rows as training_rows
from shiftbench.data.store import raw as raw_files

UNKNOWN = (
    "london-nox", "stocks", "glucose", "sea-surface-temperature", "elnino", "sunspots",
    "us-unemployment",
)  # fmt: skip
"""Series whose changes are unknown."""
FACTS = Facts(
    gives={
        "design": {"not regressors": ("neighbours",)},
        "designs": {"regressors": ("neighbours",)},
        "series": True,
        "one-row": {"rows_per_task": (1,)},
        "blocks": {"not rows_per_task": (1,)},
        "shifts": {"not dataset": UNKNOWN},
        "unknown-truth": {"dataset": UNKNOWN},
    },
    varies={
        "simulated series": {"dataset": ("simulated-ar", "simulated-correlation", "stationary-ar")}
    },
    ahead={
        "values are scaled by the whole series": {
            "not scaling": ("none",),
            "history": (0,),
        },
        "values are centred on the mean of the whole series": {
            "centre": ("whole-series",),
            "history": (0,),
        },
        "means of the weekdays are of the whole year": {"dataset": ("london-nox",)},
    },
)


@dataclass(frozen=True)
class Settings:
    dataset: Literal[
        "nile",
        "well-log",
        "london-nox",
        "stocks",
        "glucose",
        "sea-surface-temperature",
        "elnino",
        "sunspots",
        "us-unemployment",
        "simulated-ar",
        "simulated-correlation",
        "stationary-ar",
    ] = "simulated-ar"
    """Name of the series in the table of raw data."""
    realisations: Annotated[int, Ge(1)] = 8
    """Number of independent realisations of simulated series; real series have one."""
    regressors: Literal["constant", "own-lag", "own-level-and-lag", "neighbours"] = "own-lag"
    """constant: a level for each series. own-lag: a common intercept and the last value of each
    series. own-level-and-lag: an intercept and the last value of each series. neighbours: the three
    models of london-nox, with an intercept and the last value of each station; two of them add sums
    over the rings around it, by road or straight."""
    lags: tuple[Annotated[int, Ge(1)], ...] = (1,)
    """Past values that are regressors: 1 is the latest one, 2 the one before it, and so on."""
    horizon: Annotated[int, Ge(1)] = 1
    """Number of steps from the latest regressor to the value that is predicted."""
    history: Annotated[int, Ge(0)] = 0
    """Number of values at the start that are left out of the tasks; `scaling` and
    `centre: whole-series` then use only these values, and there is no look-ahead."""
    rings: Annotated[int, Ge(0), Le(5)] = 1
    """Number of rings in `neighbours`. 1: distances 0 to 10, as the authors' script asks. 0: none,
    as their code does it; the three models are then the same."""
    scaling: Literal["none", "z-score", "z-score-jointly"] = "none"
    """z-score: each series minus its mean, divided by its standard deviation, as in the paper for
    london-nox. z-score-jointly: the same with all values together, as in the paper for
    simulated-ar. Both use the whole series (a look-ahead), or its history."""
    centre: Literal["none", "first", "whole-series"] = "none"
    """Value that is subtracted before the scaling: the first, or the mean of the whole series (a
    look-ahead; the authors put it into the prior of well-log)."""
    rows_per_task: Annotated[int, Ge(1)] = 1
    """Number of steps in a task; the last before a gap or the end may have fewer."""
    series: Annotated[int, Ge(1)] = 5
    """Number of simulated series; without effect on real data."""
    contaminated: Annotated[int, Ge(0)] = 1
    """Number of series of simulated-ar, the first ones, with added t_4 noise."""
    contamination_scale: Annotated[float, Gt(0)] = 2.23606797749979
    """Factor of the t_4 noise; the square root of 5 in the authors' code."""
    contamination_threshold: float = 3.0
    """Noise below this is set to 0, so that outliers are positive; 3 in the authors' code."""
    innovations: Literal["fresh", "shared"] = "fresh"
    """fresh: each segment of simulated-ar has its own innovations. shared: all segments have the
    same, as in the authors' code; its realisation 0 is the data set of the paper's Fig. 1B."""


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings exclude each other, with its remedy."""
    if not settings.lags:
        yield "lags is empty; leave it out, or set regressors to constant"
    if settings.horizon > settings.rows_per_task:
        yield (
            f"with horizon {settings.horizon} the first {settings.horizon - 1} rows of each task"
            " are left out, since their regressors are older than what has been learnt; raise"
            " rows_per_task, or lower horizon"
        )
    if settings.regressors == "neighbours" and (tuple(settings.lags), settings.horizon) != (
        (1,),
        1,
    ):
        yield "regressors neighbours have the last value alone; leave out lags and horizon"


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """Return the store of the series, see `_series_store.stored`.

    UserError if the raw files are wrong, the regressors do not fit the data, or a constant series
    is to have a z-score.
    """
    if settings.regressors == "neighbours" and settings.dataset != "london-nox":
        raise UserError(
            f"Stream series: regressors neighbours need dataset london-nox, not {settings.dataset}."
            " Use own-lag."
        )
    series = _read(settings, Path(raw))
    view = View(
        settings.regressors,
        settings.scaling,
        settings.centre,
        settings.rows_per_task,
        tuple(settings.lags),
        settings.horizon,
        settings.history,
    )
    store = stored(settings.dataset, series, view, raw_files.table()[settings.dataset])
    if settings.regressors == "neighbours":
        store = _with_neighbours(store, Path(raw), settings.rings)
    if settings.dataset == "simulated-correlation":
        true = _simulated_correlation.correlation()[store["position"].values - 1]
        store["correlation"] = ("task", true, about("true correlation of each pair of series"))
    return store


def _read(settings: Settings, raw: Path) -> Series:
    if settings.dataset == "nile":
        return _nile.read()
    if settings.dataset == "well-log":
        return _well_log.read(raw)
    if settings.dataset == "london-nox":
        return _london_nox.read(raw)
    if settings.dataset == "stocks":
        return _stocks.read(raw)
    if settings.dataset in _plain_series.FORMS:
        return _plain_series.read(settings.dataset, raw)
    if settings.dataset == "simulated-correlation":
        return _simulated_correlation.simulate(settings.realisations, settings.series)
    if settings.dataset == "stationary-ar":
        return _stationary_ar.simulate(settings.realisations, settings.series)
    noise = _simulated_ar.Noise(
        settings.contaminated, settings.contamination_scale, settings.contamination_threshold
    )
    return _simulated_ar.simulate(
        settings.realisations, settings.series, noise, settings.innovations
    )


def _with_neighbours(store: xr.Dataset, raw: Path, rings: int) -> xr.Dataset:
    """Add the three models of london-nox, and the stations in each ring of each model."""
    store["neighbour"] = (
        ("model", "ring", "series", "other"),
        _london_nox.neighbours(raw, rings),
        about("whether the other series is in this ring around a series"),
    )
    models = np.array(["own-lag", *_london_nox.DISTANCES])
    return store.assign_coords(model=("model", models, about("model of the set")))

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

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt, Le

from shiftbench.errors import UserError
from shiftbench.interface import Batch, Problem, Task
from shiftbench.store import raw as raw_data
from shiftbench.streams import _london_nox, _series_data
from shiftbench.streams._series_data import Series
from shiftbench.streams._simulated_ar import Noise

GIVES = {
    "design": {"not regressors": ("neighbours",)},
    "designs": {"regressors": ("neighbours",)},
}
HAS = {
    "series": True,
    "one-row": {"rows_per_task": (1,)},
    "blocks": {"not rows_per_task": (1,)},
    "shifts": {"not dataset": ("london-nox",)},
    "unknown-truth": {"dataset": ("london-nox",)},
}
VARIES = {"simulated series": {"dataset": ("simulated-ar", "stationary-ar")}}
AHEAD = {
    "values are scaled by the whole series": {"not scaling": ("none",)},
    "values are centred on the mean of the whole series": {"centre": ("whole-series",)},
}

BY_TASK = ("realisation", "task")


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
    """The store: value [realisation, time, series] as the learner sees it, shift, position.

    shift, annotation (by people) and event are truth and reach no learner. UserError where the
    raw files are wrong, the regressors do not go with the data, or a series does not vary.
    """
    if settings.regressors == "neighbours" and settings.dataset != "london-nox":
        raise UserError(
            f"Stream series: regressors neighbours need dataset london-nox, not {settings.dataset}."
            " Use own-lag."
        )
    series = _read(settings, Path(raw))
    value, look_ahead = _prepared(settings, series)
    store = _labelled(settings, series, value, look_ahead)
    if settings.regressors == "neighbours":
        rings = _london_nox.neighbours(Path(raw), settings.rings)
        store["neighbour"] = (
            ("model", "ring", "series", "other"),
            rings,
            _about("whether the other series is in this ring around a series"),
        )
        models = np.array(["own-lag", *_london_nox.DISTANCES])
        store = store.assign_coords(model=("model", models, _about("model of the set")))
    return store


def problem(store: xr.Dataset) -> Problem:
    """Regression of d values on a design of shape (models, d, regressors)."""
    d, rows = store.sizes["series"], int(store.attrs["rows_per_task"])
    models, rings = store.sizes.get("model", 1), store.sizes.get("ring", 0)
    regressors = {
        "constant": d,
        "own-lag": d + 1,
        "own-level-and-lag": 2 * d,
        "neighbours": d * (2 + rings),
    }
    shape = (models, d, regressors[store.attrs["regressors"]])
    return Problem("regression", shape, d, rows, store.sizes["task"])


def task(store: xr.Dataset, realisations: Sequence[int], t: int) -> Task:
    """The steps of task t: inputs [S, n, M, d, p], targets [S, n, d]; nothing is held out.

    The last task is filled up with masked rows where the series ends within it.
    """
    rows = int(store.attrs["rows_per_task"])
    value = store["value"].values
    wanted = int(store["position"].values[t]) - 1 + np.arange(rows)
    inside = wanted < value.shape[1]
    steps = np.where(inside, wanted, value.shape[1] - 1)
    chosen = np.asarray(realisations, int)[:, None]
    targets = value[chosen, steps]
    # Only a constant design has a row for the first value, and it has no use for the past.
    inputs = _design(store, value[chosen, np.maximum(steps - 1, 0)])
    mask = np.broadcast_to(inside, targets.shape[:2])
    return Task(Batch(inputs, targets, mask), None, None)


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


def _prepared(settings: Settings, series: Series) -> tuple[np.ndarray, str]:
    """The values centred and scaled, and in words what of the whole series that took."""
    value, used = series.value, [series.look_ahead] if series.look_ahead else []
    if settings.centre == "first":
        value = value - value[:, :1]
    if settings.centre == "whole-series":
        value = value - value.mean(axis=1, keepdims=True)
        used.append("mean")
    if settings.scaling != "none":
        axes = (1,) if settings.scaling == "z-score" else (1, 2)
        deviation = value.std(axis=axes, keepdims=True)
        if not deviation.all():
            raise UserError(
                f"Stream series: a series of {settings.dataset} is constant and has no z-score."
                " Set scaling to none."
            )
        value = (value - value.mean(axis=axes, keepdims=True)) / deviation
        used.append("mean and standard deviation")
    return value, ", ".join(used)


def _labelled(settings: Settings, series: Series, value: np.ndarray, look_ahead: str) -> xr.Dataset:
    """The values with their labels, and the truth on the grid of tasks."""
    first = 0 if settings.regressors == "constant" else 1
    start = np.arange(first, value.shape[1], settings.rows_per_task)
    about = raw_data.table()[settings.dataset]
    shift = np.tile(_flags(series.changes, start), (len(value), 1))
    units = series.units if settings.scaling == "none" else "1"
    store = xr.Dataset(
        {
            "value": (
                ("realisation", "time", "series"),
                value,
                _about("observed value, after centring and scaling", units),
            ),
            "shift": (BY_TASK, shift, _about("whether a new segment starts with this task")),
        },
        coords={
            "realisation": ("realisation", np.arange(len(value)), _about("realisation")),
            "time": ("time", series.time, _about("number, year or date of a value")),
            "series": ("series", np.array(series.names), _about("name of the series")),
            "task": ("task", np.arange(len(start)), _about("number of the task")),
            "position": ("task", start + 1, _about("first value of the task, counted from 1")),
        },
        attrs={
            "title": about.title,
            "licence": about.licence,
            "citation": about.citation,
            "regressors": settings.regressors,
            "rows_per_task": settings.rows_per_task,
            "truth": series.truth,
            "look_ahead": look_ahead,
            "warm_up": 0,
        },
    )
    if series.annotations:
        store = store.merge(_annotated(series, start), combine_attrs="override")
    if series.event:
        place, words = series.event
        store["event"] = ("task", _flags([place], start), _about(words))
    return store


def _annotated(series: Series, start: np.ndarray) -> xr.Dataset:
    """The annotators' changepoints, and where a task stands in the values that they saw."""
    seen = -(-np.arange(series.value.shape[1]) // series.every)
    last = (series.value.shape[1] - 1) // series.every
    marks = [
        _flags([series.every * point for point in points], start)
        for points in series.annotations.values()
    ]
    return xr.Dataset(
        {
            "annotation": (
                ("annotator", "task"),
                np.stack(marks),
                _about("whether an annotator sees a new segment start with this task"),
            ),
            "annotated_index": (
                "task",
                np.minimum(seen[start], last),
                _about("first value from the task's start on that annotators saw, from 0"),
            ),
        },
        coords={
            "annotator": (
                "annotator",
                np.array(list(series.annotations)),
                _about("number of the annotator"),
            )
        },
    )


def _flags(positions: Sequence[int], start: np.ndarray) -> np.ndarray:
    """The tasks [task] bool that hold these positions; never task 0, which nothing precedes."""
    flags = np.zeros(len(start), bool)
    holder = np.searchsorted(start, np.asarray(positions, int), side="right") - 1
    flags[np.maximum(holder, 0)] = True
    flags[0] = False
    return flags


def _design(store: xr.Dataset, past: np.ndarray) -> np.ndarray:
    """Designs [S, n, M, d, p] from the values before each row [S, n, d]."""
    kind, d = store.attrs["regressors"], past.shape[-1]
    eye = np.eye(d)
    if kind == "constant":
        return np.broadcast_to(eye, (*past.shape[:2], 1, d, d))
    own = past[..., None] * eye
    if kind == "own-lag":
        return np.concatenate([np.ones((*past.shape, 1)), own], axis=-1)[:, :, None]
    if kind == "own-level-and-lag":
        return np.concatenate([np.broadcast_to(eye, own.shape), own], axis=-1)[:, :, None]
    sums = np.einsum("mrij,snj->snmir", store["neighbour"].values, past)
    models, rings = sums.shape[2], sums.shape[-1]
    around = sums[..., None] * eye[:, None]
    shape = (*past.shape[:2], models, d, d)
    return np.concatenate(
        [
            np.broadcast_to(eye, shape),
            np.broadcast_to(own[:, :, None], shape),
            around.reshape(*shape[:-1], rings * d),
        ],
        axis=-1,
    )


def _about(long_name: str, units: str = "1") -> dict[str, str]:
    return {"long_name": long_name, "units": units}

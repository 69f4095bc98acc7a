"""The store of one or more series, and its tasks, for all families of series.

A row is one step: targets y [d] and, for each model m of the learner's set, a design matrix
X_m [d, p], y ~ X_m beta. Designs are made when a task is read. With regressors from the past the
first value of the series has no row, so that task 0 is the second value; the coordinate `position`
is the first value of a task, counted from 1 in the values of the series.

After a gap in time a new task starts, and values whose past is before the gap have no row. With a
horizon h, the first h - 1 rows of a task are masked: they must be predicted before the previous
task is complete, but the learner has already learnt all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import xarray as xr

from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Problem, Task
from shiftbench.data.attributes import about
from shiftbench.data.store import raw as raw_files

BY_TASK = ("realisation", "task")
TIME = "number, year or date of a value"


class Series(NamedTuple):
    """A data set as it is read.

    value: [realisation, time, series]; time: [time] labels (number, year or date); names: of the
    series; time_name: name of time in the file.
    changes: first positions of new segments, from 0; truth: their source, `known`, `accepted`,
    `annotated` or `unknown`.
    annotations: positions by annotator, counted in the values that they saw, one in `every`.
    look_ahead: statistics of the whole series that the preparation uses; event: (position, words).
    after_gap: positions of the first value after each gap.
    """

    value: np.ndarray
    time: np.ndarray
    names: Sequence[str]
    units: str
    truth: str
    changes: Sequence[int]
    annotations: Mapping[str, Sequence[int]] = {}
    every: int = 1
    look_ahead: str = ""
    event: tuple[int, str] | None = None
    time_name: str = ""
    after_gap: Sequence[int] = ()


class View(NamedTuple):
    """The view that learners have of a series; see the settings of the family `series`."""

    regressors: str
    scaling: str
    centre: str
    rows_per_task: int
    lags: tuple[int, ...] = (1,)
    horizon: int = 1
    history: int = 0

    @property
    def past(self) -> int:
        """The number of steps back to the earliest regressor."""
        return 0 if self.regressors == "constant" else max(self.lags) + self.horizon - 1


class Prepared(NamedTuple):
    """Values as learners see them, and how: origin + scale * value is in the units of the data.

    value: [realisation, time, series]; origin, scale: broadcast to [realisation, 1, series];
    look_ahead: statistics of the whole series that were used.
    """

    value: np.ndarray
    origin: np.ndarray
    scale: np.ndarray
    look_ahead: str


def stored(name: str, series: Series, view: View, entry: raw_files.Dataset) -> xr.Dataset:
    """Return the store: value [realisation, time, series] as learners see it, shift, position.

    If values are centred or scaled, origin and scale [realisation, series] give the units of the
    data: origin + scale * value. shift, annotation (by people) and event are truth and reach no
    learner. A series with gaps also has `rows` and `gap` [task]. UserError, with the name of the
    data, for a z-score of a constant series, and for a history that leaves no task.
    """
    prepared = _prepared(name, series, view)
    store = _labelled(series, view, prepared, *_tasks(name, series, view))
    store = store.assign_attrs(entry.attributes())
    if prepared.value is not series.value:
        shape = (len(prepared.value), 1, prepared.value.shape[2])
        for kind, number in (("origin", prepared.origin), ("scale", prepared.scale)):
            attributes = about(f"{kind} of the values in the units of the data", series.units)
            whole = np.broadcast_to(number, shape)[:, 0]
            store[kind] = (("realisation", "series"), whole, attributes)
    return store


def problem(store: xr.Dataset) -> Problem:
    """Return the problem: regression of d values on a design of shape (models, d, regressors)."""
    d, rows = store.sizes["series"], int(store.attrs["rows_per_task"])
    models, rings = store.sizes.get("model", 1), store.sizes.get("ring", 0)
    lags = len(_lags(store))
    regressors = {
        "constant": d,
        "own-lag": 1 + lags * d,
        "own-level-and-lag": (1 + lags) * d,
        "neighbours": d * (2 + rings),
    }
    shape = (models, d, regressors[store.attrs["regressors"]])
    return Problem("regression", shape, d, rows, store.sizes["task"])


def task(store: xr.Dataset, realisations: Sequence[int], t: int) -> Task:
    """Return the steps of task t: inputs [S, n, M, d, p], targets [S, n, d]; nothing is held out.

    The last task is padded with masked rows if the series ends within it.
    """
    return Task(training_rows(store, realisations, range(t, t + 1)), None, None)


def training_rows(store: xr.Dataset, realisations: Sequence[int], tasks: range) -> Batch:
    """Return the steps of some tasks one after the other; see `task`."""
    value, per_task = store["value"].values, np.arange(int(store.attrs["rows_per_task"]))
    span = slice(tasks.start, tasks.stop)
    begin = store["position"].values[span, np.newaxis] - 1
    wanted = (begin + per_task).ravel()
    inside = wanted < value.shape[1]
    if "rows" in store:
        inside &= (per_task < store["rows"].values[span, np.newaxis]).ravel()
    inside &= np.tile(per_task >= store.attrs.get("horizon", 1) - 1, len(tasks))
    steps = np.where(inside, wanted, value.shape[1] - 1)
    numbers = np.asarray(realisations, int)[:, None]
    targets = value[numbers, steps]
    # Only a constant design has a row for the first value, and it does not use the past.
    past = np.maximum(steps[:, None] - _lags(store), 0)
    inputs = _design(store, value[numbers[..., None], past])
    return Batch(inputs, targets, np.broadcast_to(inside, targets.shape[:2]))


def _lags(store: xr.Dataset) -> np.ndarray:
    """Return the lag of each regressor in steps, the latest first."""
    return np.atleast_1d(store.attrs.get("lags", 1)) + store.attrs.get("horizon", 1) - 1


def _prepared(name: str, series: Series, view: View) -> Prepared:
    """Centre and scale the values."""
    value, used = series.value, [series.look_ahead] if series.look_ahead else []
    origin, scale = np.zeros((1, 1, 1)), np.ones((1, 1, 1))
    if view.centre == "first":
        origin = value[:, :1]
        value = value - origin
    known, whole = value[:, : view.history or None], () if view.history else ("mean",)
    if view.centre == "whole-series":
        origin = known.mean(axis=1, keepdims=True)
        value, known = value - origin, known - origin
        used.extend(whole)
    if view.scaling != "none":
        axes = (1,) if view.scaling == "z-score" else (1, 2)
        scale = known.std(axis=axes, keepdims=True)
        # The standard deviation of equal values may be 1e-17.
        constant = (scale == 0) | (np.ptp(known, axis=axes, keepdims=True) == 0)
        if constant.any():
            raise _constant(name, series.names, view.history, constant)
        mean = known.mean(axis=axes, keepdims=True)
        value, origin = (value - mean) / scale, origin + mean
        used.extend(["mean and standard deviation"] if whole else [])
    return Prepared(value, origin, scale, ", ".join(used))


def _constant(name: str, columns: Sequence[str], history: int, constant: np.ndarray) -> UserError:
    """Return the error for a z-score of a constant series; constant: [realisation, 1, series]."""
    where = f" in its first {history} values" if history else ""
    column = columns[int(constant.any(axis=(0, 1)).argmax())]
    remedy = "set `scaling: none`" + (", or leave the column out" if constant.shape[-1] > 1 else "")
    reason = f"it is constant{where}, so it has no z-score; {remedy}"
    return UserError(f'{name}, column "{column}": {reason}')


def _tasks(name: str, series: Series, view: View) -> tuple[np.ndarray, np.ndarray]:
    """Return the first value of each task, from 0, and its number of rows [task].

    UserError where there is none.
    """
    length = series.value.shape[1]
    pieces = [0, *series.after_gap, length]
    starts, rows = [], []
    for begin, end in pairwise(pieces):
        start = np.arange(max(begin + view.past, view.history), end, view.rows_per_task)
        size = np.minimum(view.rows_per_task, end - start)
        keep = size >= view.horizon  # in shorter tasks all rows are masked
        starts.append(start[keep])
        rows.append(size[keep])
    if not sum(map(len, starts)):
        raise UserError(
            f"The {length} values of {name} leave no task after a history of {view.history} and"
            f" regressors from {view.past} steps back. Lower history, lags or horizon."
        )
    return np.concatenate(starts), np.concatenate(rows)


def _labelled(
    series: Series, view: View, prepared: Prepared, start: np.ndarray, rows: np.ndarray
) -> xr.Dataset:
    """Return the values with their labels, and the truth on the grid of tasks."""
    value = prepared.value
    shift = np.tile(_flags(series.changes, start), (len(value), 1))
    units = series.units if view.scaling == "none" else "1"
    column = series.time_name
    of_time = about(column) | {"column": column} if column else about(TIME)
    store = xr.Dataset(
        {
            "value": (
                ("realisation", "time", "series"),
                value,
                about("observed value, after centring and scaling", units),
            ),
            "shift": (BY_TASK, shift, about("whether a new segment starts with this task")),
        },
        coords={
            "realisation": ("realisation", np.arange(len(value)), about("realisation")),
            "time": ("time", series.time, of_time),
            "series": ("series", np.array(series.names), about("name of the series")),
            "task": ("task", np.arange(len(start)), about("number of the task")),
            "position": ("task", start + 1, about("first value of the task, counted from 1")),
        },
        attrs={
            "regressors": view.regressors,
            "rows_per_task": view.rows_per_task,
            "truth": series.truth,
            "look_ahead": prepared.look_ahead,
            "warm_up": 0,
        },
    )
    if view.lags != (1,) or view.horizon > 1:
        store = store.assign_attrs(lags=list(view.lags), horizon=view.horizon)
    if len(series.after_gap):
        store["rows"] = ("task", rows, about("number of rows of the task"))
        first = np.searchsorted(start, series.after_gap)
        gap = np.isin(np.arange(len(start)), first)
        store["gap"] = ("task", gap, about("whether values are missing before this task"))
    if series.annotations:
        store = store.merge(_annotated(series, start), combine_attrs="override")
    if series.event:
        place, words = series.event
        store["event"] = ("task", _flags([place], start), about(words))
    return store


def _annotated(series: Series, start: np.ndarray) -> xr.Dataset:
    """Return the annotators' changepoints, and the position of tasks in the values they saw."""
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
                about("whether an annotator sees a new segment start with this task"),
            ),
            "annotated_index": (
                "task",
                np.minimum(seen[start], last),
                about("first value from the task's start on that annotators saw, from 0"),
            ),
        },
        coords={
            "annotator": (
                "annotator",
                np.array(list(series.annotations)),
                about("number of the annotator"),
            )
        },
    )


def _flags(positions: Sequence[int], start: np.ndarray) -> np.ndarray:
    """Return the tasks [task] bool that contain these positions, without task 0.

    A position without a row, in a gap, is given to the task before it.
    """
    flags = np.zeros(len(start), bool)
    holder = np.searchsorted(start, np.asarray(positions, int), side="right") - 1
    flags[np.maximum(holder, 0)] = True
    flags[0] = False
    return flags


def _design(store: xr.Dataset, past: np.ndarray) -> np.ndarray:
    """Return designs [S, n, M, d, p] from the values before each row [S, n, lag, d]."""
    kind, (s, n, lags, d) = store.attrs["regressors"], past.shape
    eye = np.eye(d)
    if kind == "constant":
        return np.broadcast_to(eye, (s, n, 1, d, d))
    own = (past[..., None] * eye).swapaxes(2, 3).reshape(s, n, d, lags * d)
    if kind == "own-lag":
        return np.concatenate([np.ones((s, n, d, 1)), own], axis=-1)[:, :, None]
    if kind == "own-level-and-lag":
        level = np.broadcast_to(eye, (s, n, d, d))
        return np.concatenate([level, own], axis=-1)[:, :, None]
    sums = np.einsum("mrij,snj->snmir", store["neighbour"].values, past[:, :, 0])
    models, rings = sums.shape[2], sums.shape[-1]
    around = sums[..., None] * eye[:, None]
    shape = (s, n, models, d, d)
    return np.concatenate(
        [
            np.broadcast_to(eye, shape),
            np.broadcast_to(own[:, :, None], shape),
            around.reshape(*shape[:-1], rings * d),
        ],
        axis=-1,
    )

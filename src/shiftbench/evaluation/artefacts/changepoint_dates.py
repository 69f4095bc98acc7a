"""When the data change: the time, probability and size of each change that a learner finds.

A row a change and column, for each learner that decides about changes: the most probable
segmentation in hindsight, of the first realisation and the first seed. Time is that of the first
value of the new segment, as the file has it; without times, it is the number of the task, from 1.

probability: of a change within 3 tasks of this one, as the learner knows it at the end of the
segment that begins here. before, after: means of the column in the segments before and after the
change, in the units of the data. size: of a series, after - before; of a table, the root mean
square difference of two predictions of the target, by least squares on the segments before and
after, over the rows of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shiftbench.evaluation.artefacts import _series
from shiftbench.evaluation.scoring import changes
from shiftbench.evaluation.scoring.changes import Change
from shiftbench.evaluation.scoring.results import StudyResults

KIND = "table"
TAKES = ("number", "design", "designs")
REFUSES = ("blocks", "table")
FROM = ("changes",)

COLUMNS = ["stream", "method", "time", "probability", "column", "before", "after", "size"]
DIGITS = 4
"""Significant ones, in the table to read."""


def tabulate(study: StudyResults) -> pd.DataFrame:
    """One row a stream, method, change and column of the data."""
    rows = [
        {"stream": stream, "method": study.label(learner)} | row
        for stream, store in study.streams.items()
        for learner in study.learners
        for row in _rows(store, study.run(stream, learner))
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """The same to read: without what is the same in all rows, and with few digits."""
    numbers = table.assign(probability=table["probability"].map("{:.2f}".format))
    for name in ("before", "after", "size"):
        numbers[name] = table[name].map(f"{{:.{DIGITS}g}}".format)
    return numbers.drop(columns=[one for one in ("stream", "column") if table[one].nunique() == 1])


def caption(study: StudyResults) -> str:
    """Describe the columns, the number of runs and the reductions."""
    units = {_unit(store) for store in study.streams.values()}
    unit = f" ({units.pop()})" if len(units) == 1 and "" not in units else ""
    tables = any("value" not in store for store in study.streams.values())
    size = (
        "root mean square difference of least-squares predictions from the segments before and"
        " after"
        if tables
        else "after - before"
    )
    none = [
        f"{study.label(learner)} on {stream}"
        for stream in study.streams
        for learner in study.learners
        if changes.found(study.run(stream, learner)) == []
    ]
    without = f" No change: {', '.join(none)}." if none else ""
    return (
        f"Changes of the most probable segmentation, read backwards from the end. probability: of a"
        f" change within {changes.NEAR} tasks, at the end of the segment; before, after: mean"
        f"{unit} in the segments before and after; size: {size}.{without} First realisation, first"
        f" seed. {study.budget()}"
    )


def _rows(store: xr.Dataset, run: xr.Dataset) -> Iterator[dict[str, Any]]:
    """The rows of a run, without its names."""
    sized = _of_series if "value" in store else _of_table
    times = _series.of_tasks(store)
    for change in changes.found(run) or ():
        known = {"time": str(times[change.task]), "probability": change.probability}
        for row in sized(store, change):
            yield known | row


def _of_series(store: xr.Dataset, change: Change) -> Iterator[dict[str, Any]]:
    """Return the changes in each series."""
    values, place = _series.values(store), store["position"].values - 1
    start = np.append(place, len(values))[[change.before, change.task, change.end]]
    before, after = values[start[0] : start[1]], values[start[1] : start[2]]
    means = before.mean(axis=0), after.mean(axis=0)
    for name, old, new in zip(store["series"].values.tolist(), *means, strict=True):
        yield {"column": name, "before": old, "after": new, "size": new - old}


def _of_table(store: xr.Dataset, change: Change) -> Iterator[dict[str, Any]]:
    """Return the changes in the target and in how the features predict it."""
    parts = [
        store["train_rows"].values[0, first:last].ravel()
        for first, last in ((change.before, change.task), (change.task, change.end))
    ]
    parts = [rows[rows >= 0] for rows in parts]
    inputs, target = store["inputs"].values, _target(store)
    design = np.column_stack([inputs, np.ones(len(inputs))])
    fits = [np.linalg.lstsq(design[rows], target[rows])[0] for rows in parts]
    apart = design[np.concatenate(parts)] @ (fits[1] - fits[0])
    before, after = (target[rows].mean() for rows in parts)
    size = np.sqrt(np.mean(apart**2))
    name = store.attrs.get("target", "target")
    yield {"column": name, "before": before, "after": after, "size": size}


def _target(store: xr.Dataset) -> np.ndarray:
    """The target of each row in the units of the data [row]."""
    target = store["target"].values
    if "target_sd" not in store:
        return target
    return store["target_mean"].values[0] + store["target_sd"].values[0] * target


def _unit(store: xr.Dataset) -> str:
    return _series.unit(store) if "value" in store else ""

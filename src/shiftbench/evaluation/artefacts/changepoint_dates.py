"""Time, probability and size of each change in the data that a method finds.

One row per change and column, for each method that decides about changes: its most probable
segmentation in hindsight, for the first realisation and the first seed. time: of the first value
of the new segment, as in the file. Without times, the number of the value or row in the file is
used, counted from 1. If the rows of a table have no order in time, it is the number of the task.

probability: of a change within 3 tasks of this one, as the method knows it at the end of the
segment that begins here. before, after: means of the column in the segments before and after the
change, in the units of the data. size: for a series, after - before; for a table, the root mean
square difference, over the rows of both segments, of two predictions of the target, by least
squares on the segment before and on the one after.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shiftbench.core.facts import Facts
from shiftbench.evaluation import table_files
from shiftbench.evaluation.artefacts import _series
from shiftbench.evaluation.scoring import changes
from shiftbench.evaluation.scoring.changes import Change
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(
    takes=("number", "design", "designs"), refuses=("blocks", "table"), from_learner=("changes",)
)

COLUMNS = ["stream", "method", "time", "probability", "column", "before", "after", "size"]
DIGITS = 4
"""Significant digits in the Markdown table."""


def tabulate(study: StudyResults) -> pd.DataFrame:
    """Return one row per stream, method, change and column of the data."""
    rows = [
        {"stream": stream, "method": study.label(method)} | row
        for stream, store in study.streams.items()
        for method in study.methods
        for row in _rows(store, study.run(stream, method))
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table for reading: without constant names, and with few digits."""
    numbers = table.assign(probability=table["probability"].map("{:.2f}".format))
    for name in ("before", "after", "size"):
        numbers[name] = table[name].map(f"{{:.{DIGITS}g}}".format)
    return table_files.without_constant(numbers, ("stream", "column"))


def caption(study: StudyResults) -> str:
    """Describe the columns, the number of runs and the reductions."""
    stores = study.streams.values()
    units = {_series.unit(store) if "value" in store else "" for store in stores}
    unit = f" ({units.pop()})" if len(units) == 1 and "" not in units else ""
    tables = any("value" not in store for store in stores)
    size = (
        "root mean square difference of least-squares predictions from the segments before and"
        " after"
        if tables
        else "after - before"
    )
    times = " or ".join(dict.fromkeys(_series.axis_label(store) for store in stores))
    none = [
        f"{study.label(method)} on {stream}"
        for stream in study.streams
        for method in study.methods
        if _found(study.run(stream, method)) == []
    ]
    without = f" No change: {', '.join(none)}." if none else ""
    return (
        f"Changes in the most probable segmentation, found by backtracking. time: {times} at"
        f" which the new segment begins; probability: of a change within {changes.NEAR} tasks, at"
        f" the end of the segment; before, after: mean{unit} in the segments before and after;"
        f" size: {size}.{without} First realisation, first seed. {study.basis()}"
    )


def _found(run: xr.Dataset) -> list[Change] | None:
    """Return the changes on the first realisation, whose values and times the table has."""
    return changes.inferred(_series.first_seed(run))


def _rows(store: xr.Dataset, run: xr.Dataset) -> Iterator[dict[str, Any]]:
    """Yield the rows of a run, without stream and method."""
    sizes = _series_sizes if "value" in store else _table_sizes
    times = _series.task_times(store)
    for change in _found(run) or ():
        when = {"time": str(times[change.task]), "probability": change.probability}
        for row in sizes(store, change):
            yield when | row


def _series_sizes(store: xr.Dataset, change: Change) -> Iterator[dict[str, Any]]:
    """Yield the change of the mean of each series."""
    values, first = _series.values(store), store["position"].values - 1
    start = np.append(first, len(values))[[change.before, change.task, change.end]]
    before, after = values[start[0] : start[1]], values[start[1] : start[2]]
    means = before.mean(axis=0), after.mean(axis=0)
    for name, old, new in zip(store["series"].values.tolist(), *means, strict=True):
        yield {"column": name, "before": old, "after": new, "size": new - old}


def _table_sizes(store: xr.Dataset, change: Change) -> Iterator[dict[str, Any]]:
    """Yield the change of the target, and of how the features predict it."""
    segments = [
        store["train_rows"].values[0, first:last].ravel()
        for first, last in ((change.before, change.task), (change.task, change.end))
    ]
    segments = [rows[rows >= 0] for rows in segments]
    inputs, target = store["inputs"].values, _target(store)
    design = np.column_stack([inputs, np.ones(len(inputs))])
    fits = [np.linalg.lstsq(design[rows], target[rows])[0] for rows in segments]
    difference = design[np.concatenate(segments)] @ (fits[1] - fits[0])
    before, after = (target[rows].mean() for rows in segments)
    size = np.sqrt(np.mean(difference**2))
    name = store.attrs.get("target", "target")
    yield {"column": name, "before": before, "after": after, "size": size}


def _target(store: xr.Dataset) -> np.ndarray:
    """Return the target in the units of the data [row]."""
    target = store["target"].values
    if "target_sd" not in store:
        return target
    return store["target_mean"].values[0] + store["target_sd"].values[0] * target

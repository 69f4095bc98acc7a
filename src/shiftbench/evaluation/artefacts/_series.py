"""Time axis, values and names of series, for figures and tables."""

from __future__ import annotations

import os
import re

import numpy as np
import xarray as xr

from shiftbench.config import provenance
from shiftbench.data.store import raw
from shiftbench.evaluation.scoring.results import StudyResults


def axis(store: xr.Dataset) -> np.ndarray:
    """Return numbers, years or dates of the values of a series or the tasks of a table [time].

    For a table without a column of time: the numbers of the tasks, from 1.
    """
    if "time" not in store.coords:
        return 1 + np.arange(store.sizes["task"])
    labels = store["time"].values
    return labels.astype("datetime64") if labels.dtype.kind == "U" else labels


def task_times(store: xr.Dataset) -> np.ndarray:
    """Return the time of the first value, or row, of each task [task]."""
    labels = axis(store)
    return labels[store["position"].values - 1] if "position" in store else labels


def axis_label(store: xr.Dataset) -> str:
    """Return the label of the time axis: its name in a file, or the kind of its values."""
    if "time" not in store.coords:
        return "task"
    column, labels = store["time"].attrs.get("column"), store["time"].values
    if column:
        return column
    if labels.dtype.kind == "U":
        return "date"
    return "time step" if labels[0] == 1 else "year"


def may_be_drawn(store: xr.Dataset) -> bool:
    """Return whether a figure may show the values, because readers could extract them from it.

    Data that are read from an installed package may not be passed on.
    """
    dataset = raw.table().get(str(provenance.dataset(store)))
    return dataset is None or not any(file.inside for file in dataset.files.values())


def values(store: xr.Dataset) -> np.ndarray:
    """Return the series of the first realisation in the units of the data [time, series]."""
    scaled = store["value"].values[0]
    if "scale" not in store:
        return scaled
    return store["origin"].values[0] + store["scale"].values[0] * scaled


def first_seed(run: xr.Dataset) -> xr.Dataset:
    """Return the first seed of a run that saw the first realisation; no seed without one.

    Where seeds failed, the first one of a run may have seen another realisation.
    """
    return run.isel(seed=np.flatnonzero(run["realisation"].values == 0)[:1])


def unit(store: xr.Dataset) -> str:
    """Return the unit of `values`; empty if it is unknown."""
    unit = store["scale" if "scale" in store else "value"].attrs["units"]
    return "" if unit in ("1", "unknown") else unit


def rows_learnt(store: xr.Dataset, tasks: int) -> int:
    """Return the number of training rows in the first tasks."""
    task = provenance.reader(store).task
    return sum(int(task(store, [0], t).train.mask.sum()) for t in range(tasks))


def plotted(store: xr.Dataset) -> tuple[np.ndarray, str]:
    """Return the values that figures draw [time, series] and their label.

    In the units of the data, but standardised if several series have different scales.
    """
    names = store["series"].values.tolist()
    if "scale" in store and np.ptp(store["scale"].values[0]) > 0:
        return store["value"].values[0], "value (z-score)"
    name = names[0] if len(names) == 1 else "value"
    return values(store), f"{name} ({unit(store)})" if unit(store) else name


def short_name(study: StudyResults, stream: str) -> str:
    """Return the stream's name, 0p5 as 0.5; in a grid, its values without their common prefix."""
    if stream not in study.cells:
        return re.sub(r"(?<=\d)p(?=\d)", ".", stream)
    names = {name: " ".join(map(str, cell.values())) for name, cell in study.cells.items()}
    # The prefix of texts rather than paths, cut to whole words.
    prefix = os.path.commonprefix(list(names.values())) if len(names) > 1 else ""  # noqa: RUF071
    return names[stream].removeprefix(prefix[: prefix.rfind("-") + 1])

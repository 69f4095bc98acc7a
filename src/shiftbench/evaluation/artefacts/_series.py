"""What figures and tables of series share: the axis of time, and how a series is called."""

from __future__ import annotations

import os

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring.results import StudyResults


def axis(store: xr.Dataset) -> np.ndarray:
    """Numbers, years or dates: of the values [time] of a series, or of the tasks of a table.

    The numbers of the tasks, from 1, where a table has no column of time.
    """
    if "time" not in store.coords:
        return 1 + np.arange(store.sizes["task"])
    labels = store["time"].values
    return labels.astype("datetime64") if labels.dtype.kind == "U" else labels


def of_tasks(store: xr.Dataset) -> np.ndarray:
    """Label of the first value, or row, of each task [task]."""
    labels = axis(store)
    return labels[store["position"].values - 1] if "position" in store else labels


def label(store: xr.Dataset) -> str:
    """What the axis shows: the name that a file has for it, or what its labels look like."""
    if "time" not in store.coords:
        return "task"
    named, labels = store["time"].attrs.get("column"), store["time"].values
    if named:
        return named
    if labels.dtype.kind == "U":
        return "date"
    return "number of the value" if labels[0] == 1 else "year"


def values(store: xr.Dataset) -> np.ndarray:
    """The series of the first realisation in the units of the data [time, series]."""
    found = store["value"].values[0]
    if "scale" not in store:
        return found
    return store["origin"].values[0] + store["scale"].values[0] * found


def unit(store: xr.Dataset) -> str:
    """The unit of `values`; empty where it is not known."""
    told = store["scale" if "scale" in store else "value"].attrs["units"]
    return "" if told in ("1", "unknown") else told


def drawn(store: xr.Dataset) -> tuple[np.ndarray, str]:
    """Return the values that figures draw, [time, series], and the label of their axis.

    In the units of the data, but as learners see them where each of several series has a scale of
    its own.
    """
    names = store["series"].values.tolist()
    if "scale" in store and np.ptp(store["scale"].values[0]) > 0:
        return store["value"].values[0], "value (z-score)"
    named = names[0] if len(names) == 1 else "value"
    return values(store), f"{named} ({unit(store)})" if unit(store) else named


def name(study: StudyResults, stream: str) -> str:
    """The stream's name; in a grid, its values on the axes, without what all begin with."""
    if stream not in study.cells:
        return stream
    named = {one: " ".join(map(str, cell.values())) for one, cell in study.cells.items()}
    # Texts and no paths; whole words alone.
    same = os.path.commonprefix(list(named.values())) if len(named) > 1 else ""  # noqa: RUF071
    return named[stream].removeprefix(same[: same.rfind("-") + 1])

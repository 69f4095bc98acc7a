"""What figures and tables of series share: the axis of time, and how a series is called."""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.scoring.results import StudyResults
from shiftbench.streams._series_store import TIME
from shiftbench.streams._tcpd import PREFIX


def axis(store: xr.Dataset) -> np.ndarray:
    """Numbers, years or dates of the values [time]."""
    labels = store["time"].values
    return labels.astype("datetime64") if labels.dtype.kind == "U" else labels


def of_tasks(store: xr.Dataset) -> np.ndarray:
    """Label of the first value of each task."""
    return axis(store)[store["position"].values - 1]


def label(store: xr.Dataset) -> str:
    """What the axis shows: the name that a file has for it, or what its labels look like."""
    named, labels = store["time"].attrs.get("long_name", TIME), store["time"].values
    if named != TIME:
        return named
    if labels.dtype.kind == "U":
        return "date"
    return "number of the value" if labels[0] == 1 else "year"


def name(study: StudyResults, stream: str) -> str:
    """The stream's name; in a grid, its values on the axes."""
    if stream not in study.cells:
        return stream
    words = [str(value) for value in study.cells[stream].values()]
    return " ".join(words).removeprefix(PREFIX)

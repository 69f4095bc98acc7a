"""What figures and tables of series share: the axis of time, and how a series is called."""

from __future__ import annotations

import os

import numpy as np
import xarray as xr

from shiftbench.scoring.results import StudyResults


def axis(store: xr.Dataset) -> np.ndarray:
    """Numbers, years or dates of the values [time]."""
    labels = store["time"].values
    return labels.astype("datetime64") if labels.dtype.kind == "U" else labels


def of_tasks(store: xr.Dataset) -> np.ndarray:
    """Label of the first value of each task."""
    return axis(store)[store["position"].values - 1]


def label(store: xr.Dataset) -> str:
    """What the axis shows: the name that a file has for it, or what its labels look like."""
    named, labels = store["time"].attrs.get("column"), store["time"].values
    if named:
        return named
    if labels.dtype.kind == "U":
        return "date"
    return "number of the value" if labels[0] == 1 else "year"


def name(study: StudyResults, stream: str) -> str:
    """The stream's name; in a grid, its values on the axes, without what all begin with."""
    if stream not in study.cells:
        return stream
    named = {one: " ".join(map(str, cell.values())) for one, cell in study.cells.items()}
    # Texts and no paths; whole words alone.
    same = os.path.commonprefix(list(named.values())) if len(named) > 1 else ""  # noqa: RUF071
    return named[stream].removeprefix(same[: same.rfind("-") + 1])

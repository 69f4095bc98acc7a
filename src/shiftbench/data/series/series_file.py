"""A series from a file, CSV or JSON: yours, or one of those that annotators marked.

Yours is a `path`, one or several columns of numbers in order of time, and what people saw in it if
you have that. A `dataset` is one of 32 series of the Turing Change Point Dataset (G. J. J. van den
Burg and C. K. I. Williams, 2020, arXiv:2003.06222). A row is one step, as in the family `series`,
and so are the regressors.

A position counts the values from 0, and is the first value of a new segment. True changes, as
metrics take them that know of no annotators, are where most annotators have a position within one
value of each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge

from shiftbench.core.facts import Facts
from shiftbench.data.series import _series_files, _tcpd
from shiftbench.data.series._series_store import Series, View, stored
from shiftbench.data.series._series_store import problem as problem
from shiftbench.data.series._series_store import task as task
from shiftbench.data.store import raw as raw_data

FACTS = Facts(
    gives={
        "design": True,
        "series": True,
        "one-row": {"rows_per_task": (1,)},
        "blocks": {"not rows_per_task": (1,)},
        "shifts": ({"not annotations": ("",)}, {"not dataset": ("",)}),
        "unknown-truth": {"annotations": ("",), "dataset": ("",)},
    },
    ahead={
        "values are scaled by the whole series": {"not scaling": ("none",)},
        "values are centred on the mean of the whole series": {"centre": ("whole-series",)},
        "gaps, if there are any, are filled from both sides": {"gaps": ("interpolate",)},
    },
)

NEAR = 1
"""Values between positions of annotators that mean one change."""


@dataclass(frozen=True)
class Settings:
    path: str = ""
    """Your file, from the folder of the config: .json, or else CSV in UTF-8."""
    dataset: Literal[
        "",
        "tcpd-bank",
        "tcpd-brent-spot",
        "tcpd-businv",
        "tcpd-centralia",
        "tcpd-children-per-woman",
        "tcpd-co2-canada",
        "tcpd-construction",
        "tcpd-debt-ireland",
        "tcpd-gdp-argentina",
        "tcpd-gdp-croatia",
        "tcpd-gdp-iran",
        "tcpd-gdp-japan",
        "tcpd-global-co2",
        "tcpd-homeruns",
        "tcpd-jfk-passengers",
        "tcpd-lga-passengers",
        "tcpd-nile",
        "tcpd-ozone",
        "tcpd-quality-control-1",
        "tcpd-quality-control-2",
        "tcpd-quality-control-3",
        "tcpd-quality-control-4",
        "tcpd-quality-control-5",
        "tcpd-rail-lines",
        "tcpd-run-log",
        "tcpd-seatbelts",
        "tcpd-shanghai-license",
        "tcpd-uk-coal-employ",
        "tcpd-unemployment-nl",
        "tcpd-us-population",
        "tcpd-usd-isk",
        "tcpd-well-log",
    ] = ""
    """A series that annotators marked; an entry of the table of raw data."""
    columns: tuple[str, ...] = ()
    """Columns of the file, or labels of series of a JSON file; if empty all that start with a
    number. Without a line of names columns are called 1, 2, ..."""
    time: str = ""
    """The column of time, numbers or dates such as 2001-12-31, which must increase; if empty the
    values are numbered, or a JSON file has its own."""
    unit: str = ""
    """Unit of the values, as axes of figures and tables have it."""
    delimiter: Literal[",", ";", "\t", " "] = ","
    """What is between the cells of a CSV file."""
    gaps: Literal["refuse", "interpolate"] = "refuse"
    """Missing values: an error, or on the line between their neighbours (a look-ahead)."""
    annotations: str | dict[str, tuple[int, ...]] = ""
    """What people saw: {annotator: [positions]}, or a JSON file with that, from the folder of the
    config. Position 0 is the first value, where no new segment can start."""
    regressors: Literal["constant", "own-lag", "own-level-and-lag"] = "constant"
    """constant: a level for each column. own-lag: a common intercept and each column's own last
    value; own-level-and-lag: an intercept of its own as well."""
    scaling: Literal["none", "z-score", "z-score-jointly"] = "z-score"
    """z-score: less the mean, by the standard deviation, of each column; jointly: of all values
    together. Both use the whole series, which no one has at its start (a look-ahead)."""
    centre: Literal["none", "first", "whole-series"] = "none"
    """What is subtracted before the scaling: the first value, or the mean of the whole series."""
    rows_per_task: Annotated[int, Ge(1)] = 1
    """Number of steps in a task."""
    sha256: str = ""
    """Checksum of the file at `path`, compared before anything runs; not, if empty."""
    title: str = ""
    """What the file has; its name, if empty."""
    licence: str = "not stated"
    """Its licence, which the store carries."""
    citation: str = "not stated"
    """Where it comes from, which the store carries."""


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings exclude each other, with its remedy."""
    if not settings.path and not settings.dataset:
        yield "there is no file: write `path`, a file of yours, or `dataset`"
    if settings.path and settings.dataset:
        yield "two files: leave out `path` or `dataset`"
    if settings.dataset and settings.annotations:
        yield "a `dataset` has annotations of its own: leave out `annotations`"


def look(settings: Settings, path: Path) -> None:
    """UserError for what is wrong in a user's file, or in its annotations."""
    _read(settings, path)


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """The store of the file at `raw`, or of a data set's in this folder; see `_series_store`.

    UserError, with file and place, for what is wrong there, and for a column that does not vary.
    """
    if settings.dataset:
        name, about = settings.dataset, raw_data.table()[settings.dataset]
    else:
        name, title = str(raw), settings.title or raw.name
        about = raw_data.Dataset(title, settings.licence, settings.citation, {})
    view = View(settings.regressors, settings.scaling, settings.centre, settings.rows_per_task)
    return stored(name, _read(settings, raw), view, about)


def _read(settings: Settings, raw: Path) -> Series:
    """The series as it is, with what annotators saw."""
    file = raw / _tcpd.file(settings.dataset) if settings.dataset else raw
    found = _series_files.read(
        file, settings.columns, settings.time, settings.delimiter, settings.gaps
    )
    marks: Mapping[str, Sequence[int]] = {}
    if settings.dataset:
        marks = _tcpd.annotations(settings.dataset)
    elif settings.annotations != "":
        marks = _series_files.annotations(settings.annotations, found.name)
        place = settings.annotations if isinstance(settings.annotations, str) else "annotations"
        _series_files.refuse_outside(place, marks, len(found.value))
    return Series(
        value=found.value[None],
        time=found.time,
        names=found.names,
        units=settings.unit or "1",
        truth="annotated" if marks else "unknown",
        changes=_agreed(marks),
        annotations=marks,
        look_ahead="neighbours of gaps" if found.filled else "",
        time_name=found.time_name,
    )


def _agreed(marks: Mapping[str, Sequence[int]]) -> list[int]:
    """Positions near which most annotators have one, the first of those that are near."""
    agreed: list[int] = []
    for point in sorted(set().union(*marks.values())):
        near = [any(abs(one - point) <= NEAR for one in points) for points in marks.values()]
        if 2 * np.sum(near) > len(marks) and (not agreed or point - agreed[-1] > NEAR):
            agreed.append(point)
    return agreed

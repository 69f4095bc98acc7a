"""A series from a file, CSV or JSON: your own, or one that annotators marked.

Your own is a `path` with one or several columns of numbers in order of time, and the changes that
people marked in it, if you have them. A `dataset` is one of 35 series of the Turing Change Point
Dataset (G. J. J. van den Burg and C. K. I. Williams, 2020, arXiv:2003.06222), or one of two that
were joined from parts. Some need another package: three of TCPD need river, and the two joined ones
need aeon. Rows and regressors are those of the family `series`.

A position counts the values from 0, and is the first value of a new segment. True changes, for
metrics that do not use annotators, are positions within one value of which most annotators have a
mark; a mark counts for one of them at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge

from shiftbench.core.facts import Facts
from shiftbench.data import date_gaps
from shiftbench.data.series import _aeon, _series_files, _tcpd
from shiftbench.data.series._series_files import Table
from shiftbench.data.series._series_store import Series, View, stored
from shiftbench.data.series._series_store import problem as problem
from shiftbench.data.series._series_store import task as task
from shiftbench.data.series._series_store import training_rows as training_rows
from shiftbench.data.store import raw as raw_files

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
"""Largest distance of positions of annotators that mean the same change."""


@dataclass(frozen=True)
class Settings:
    path: str = ""
    """Your file, relative to the folder of the config: .json, or else CSV in UTF-8; plain, .gz or
    .xz."""
    dataset: Literal[
        "",
        "aeon-electric-devices",
        "aeon-gun-point",
        "tcpd-apple",
        "tcpd-bank",
        "tcpd-bitcoin",
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
        "tcpd-occupancy",
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
    """Name of a series in the table of raw data, with changes that people marked or that are known.
    tcpd-apple, tcpd-bitcoin and tcpd-occupancy are read from the package river, aeon-... from the
    package aeon; a grid leaves them out where these are not installed."""
    columns: tuple[str, ...] = ()
    """Columns of the file, or labels of series of a JSON file. Empty: all that have a number.
    Without a line of names, columns are called 1, 2, ..."""
    time: str = ""
    """The column of time, numbers or dates such as 2001-12-31, which must increase. Empty: the time
    of a JSON file, if it has one, else the numbers of the values."""
    unit: str = ""
    """Unit of the values, for axes of figures and tables."""
    delimiter: Literal[",", ";", "\t", " "] = ","
    """Separator of the cells of a CSV file."""
    gaps: Literal["refuse", "interpolate"] = "refuse"
    """Missing values are refused, or interpolated between their neighbours (a look-ahead)."""
    annotations: str | dict[str, tuple[int, ...]] = ""
    """The changes that people marked: {annotator: [positions]}, or a JSON file with that, relative
    to the folder of the config. Position 0 is the first value, where no new segment can start."""
    regressors: Literal["constant", "own-lag", "own-level-and-lag"] = "constant"
    """constant: a level for each column. own-lag: a common intercept and the last value of each
    column. own-level-and-lag: an intercept and the last value of each column."""
    scaling: Literal["none", "z-score", "z-score-jointly"] = "z-score"
    """z-score: each column minus its mean, divided by its standard deviation. z-score-jointly: the
    same with all values together. Both use the whole series (a look-ahead)."""
    centre: Literal["none", "first", "whole-series"] = "none"
    """Value that is subtracted before the scaling: the first, or the mean of the whole series."""
    rows_per_task: Annotated[int, Ge(1)] = 1
    """Number of steps in a task."""
    sha256: str = ""
    """Checksum of the file at `path`, compared before anything runs. Empty: unchecked."""
    title: str = ""
    """What the file has; empty: its name."""
    licence: str = "not stated"
    """Licence of the file, which the store carries."""
    citation: str = "not stated"
    """Source of the file, which the store carries."""


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings exclude each other, with its remedy."""
    if not settings.path and not settings.dataset:
        yield "there is no file: write `path`, a file of yours, or `dataset`"
    if settings.path and settings.dataset:
        yield "two files: leave out `path` or `dataset`"
    if settings.dataset and settings.annotations:
        yield "a `dataset` has annotations of its own: leave out `annotations`"


def look(settings: Settings, path: Path) -> list[str]:
    """Return a note on missing dates.

    UserError for a wrong file of a user, or wrong annotations, or a constant column.
    """
    build(settings, path)
    table = _table(settings, path, settings.columns, settings.time)
    note = date_gaps.note(table.time, table.time_name)
    return [note] if note else []


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """Return the store of the file at `raw`, or of a data set in this folder; see `_series_store`.

    UserError, with file and line, if the file is wrong, or a constant column is to have a z-score.
    """
    if settings.dataset:
        name, entry = str(settings.dataset), raw_files.table()[settings.dataset]
    else:
        name, title = str(raw), settings.title or raw.name
        entry = raw_files.Dataset(title, settings.licence, settings.citation, {})
    view = View(settings.regressors, settings.scaling, settings.centre, settings.rows_per_task)
    return stored(name, _read(settings, raw), view, entry)


def _read(settings: Settings, raw: Path) -> Series:
    """Read the series, with the positions that annotators marked or that are known."""
    if settings.dataset in _aeon.SERIES:
        joined = _aeon.SERIES[settings.dataset]
        table = _table(settings, raw / joined.file, (_aeon.VALUE,), _aeon.TIME)
        return _series(settings, table, "known", joined.changes)
    file = raw / _tcpd.file_name(settings.dataset) if settings.dataset else raw
    table = _table(settings, file, settings.columns, settings.time)
    marks: Mapping[str, Sequence[int]] = {}
    if settings.dataset:
        marks = _tcpd.positions(settings.dataset)
    elif settings.annotations != "":
        marks = _series_files.positions(settings.annotations, table.name)
        place = settings.annotations if isinstance(settings.annotations, str) else "annotations"
        _series_files.refuse_outside(place, marks, len(table.value))
    return _series(settings, table, "annotated" if marks else "unknown", _agreed(marks), marks)


def _table(settings: Settings, file: Path, columns: Sequence[str], time: str) -> Table:
    return _series_files.read(file, columns, time, settings.delimiter, settings.gaps)


def _series(
    settings: Settings,
    table: Table,
    truth: str,
    changes: Sequence[int],
    marks: Mapping[str, Sequence[int]] = MappingProxyType({}),
) -> Series:
    """Return a table as a series."""
    return Series(
        value=table.value[None],
        time=table.time,
        names=table.names,
        units=settings.unit or "1",
        truth=truth,
        changes=changes,
        annotations=marks,
        look_ahead="neighbours of gaps" if table.filled else "",
        time_name=table.time_name,
    )


def _agreed(marks: Mapping[str, Sequence[int]]) -> list[int]:
    """Return positions near which most annotators have a mark, the first of near positions.

    Two of them are so far apart that no mark is near both.
    """
    agreed: list[int] = []
    for point in sorted(set().union(*marks.values())):
        near = [any(abs(mark - point) <= NEAR for mark in points) for points in marks.values()]
        if 2 * np.sum(near) > len(marks) and (not agreed or point - agreed[-1] > 2 * NEAR):
            agreed.append(point)
    return agreed

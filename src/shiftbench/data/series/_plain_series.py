"""Real series of one value a step: glucose, sea temperature, El Nino, sunspots, unemployment.

A gap is a longer wait than one and a half steps. A value less than half a step after the last one
is left out: the glucose monitor gave some values twice, and some a minute after others.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shiftbench.data.series._series_store import Series
from shiftbench.data.store import raw as raw_files

Rows = Iterator[tuple[str, float]]


class Form(NamedTuple):
    """A file: its name, reader of (time, value), number of rows, name and unit of the series.

    step: the number of minutes between values; 0 where none are missing.
    """

    file: str
    rows: Callable[[csv.DictReader], Rows]
    size: int
    name: str
    units: str
    step: int = 0


def _columns(time: str, value: str, length: int) -> Callable[[csv.DictReader], Rows]:
    """Return a reader of a column of times, cut to `length` characters, and a column of values."""

    def rows(table: csv.DictReader) -> Rows:
        for row in table:
            yield row[time][:length].replace(" ", "T"), float(row[value])

    return rows


def _months(table: csv.DictReader) -> Rows:
    """Read a table with a row per year: the year, then a column per month."""
    year, *months = (table.fieldnames or [])[:13]
    for row in table:
        for number, month in enumerate(months, 1):
            yield f"{row[year]}-{number:02d}", float(row[month])


FORMS = {
    "glucose": Form(
        "CGM.csv.gz", _columns("datetime", "glucose", 16), 52281, "glucose", "mg/dL", step=5
    ),
    "sea-surface-temperature": Form(
        "sea_surface_temperature.csv.gz",
        _columns("time (UTC)", "temperature (celsius)", 16),
        19226,
        "buoy B01",
        "degree Celsius",
        step=30,
    ),
    "elnino": Form("elnino.csv", _months, 732, "Nino 1+2", "degree Celsius"),
    "sunspots": Form("sunspots.csv", _columns("YEAR", "SUNACTIVITY", 4), 309, "sunspots", "1"),
    "us-unemployment": Form("unemployment1948.csv", _months, 828, "unemployment", "%"),
}


def read(dataset: str, raw: Path) -> Series:
    """Read a series [time, 1] with its gaps. UserError if the file is missing or wrong."""
    form = FORMS[dataset]
    path = raw / form.file
    if not path.is_file():
        raise raw_files.missing(path)
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    rows = list(form.rows(csv.DictReader(io.StringIO(text))))
    if len(rows) != form.size or not np.isfinite([value for _, value in rows]).all():
        raise raw_files.wrong(path, f"it should have {form.size} rows, each with a number")
    times, values = (np.array(column) for column in zip(*rows, strict=True))
    keep, after_gap = _spaced(times, form.step) if form.step else (slice(None), [])
    return Series(
        values[None, keep, None],
        time=times[keep],
        names=[form.name],
        units=form.units,
        truth="unknown",
        changes=[],
        after_gap=after_gap,
    )


def _spaced(times: np.ndarray, step: int) -> tuple[list[int], list[int]]:
    """Return the positions of values to keep, and which of these follow a gap; step in minutes."""
    minutes = times.astype("datetime64[m]").astype(int).tolist()
    keep, after_gap = [0], []
    for position, minute in enumerate(minutes):
        wait = minute - minutes[keep[-1]]
        if 2 * wait > step:
            if 2 * wait > 3 * step:
                after_gap.append(len(keep))
            keep.append(position)
    return keep, after_gap

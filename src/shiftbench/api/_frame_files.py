"""Writes a table in memory to a file, which the families of streams can read."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from shiftbench.api.arguments import refuse_doubled
from shiftbench.config.base_model import Name
from shiftbench.config.compatibility_words import listed
from shiftbench.core import atomic_files
from shiftbench.core.errors import UserError
from shiftbench.data import csv_files, times
from shiftbench.runtime import cached_jobs

if TYPE_CHECKING:
    import pandas as pd


def table(frame: pd.DataFrame | pd.Series, name: str, time: str | None) -> pd.DataFrame:
    """Return a frame or a Series as a table that a file can hold. UserError if it cannot.

    name: of the stream. time: the column of time, or the name of the index.
    """
    found = _with_time(_as_frame(frame), time)
    _refuse_names(name, found)
    return found.assign(**{str(time): _dated(found[time])}) if time in found.columns else found


def written(table: pd.DataFrame, name: str) -> Path:
    """Write a table to the cache, where the families can read it; return the file.

    A line of the file is a row: breaks within texts become spaces.
    """
    texts = table.select_dtypes(exclude=["number", "bool", "datetime"]).columns
    single = {
        column: table[column].map(lambda cell: _line(cell) if isinstance(cell, str) else cell)
        for column in texts
    }
    booleans = table.select_dtypes("bool").columns
    flags = {column: table[column].astype("Int64") for column in booleans}
    content = table.assign(**single, **flags).to_csv(index=False, lineterminator="\n")
    try:
        folder = hashlib.sha256(content.encode()).hexdigest()[:40]
    except UnicodeEncodeError as error:
        wrong = content[error.start]
        raise UserError(f"a text has {wrong!r}, which no file can hold; replace it") from None
    path = cached_jobs.cache_folder() / "frames" / folder / f"{name}.csv"
    if not path.is_file():
        atomic_files.write(path, content)
    return path


def refuse_changed_classes(labels: pd.Series) -> None:
    """Raise UserError for a text that the family would read as another class, or as missing."""
    found = {(isinstance(one, str), str(one)) for one in labels.dropna()}
    numbers = {label for is_text, label in found if not is_text}
    for label in sorted(label for is_text, label in found if is_text):
        read = _line(label).strip()
        if csv_files.is_missing(label) and read:
            wrong = "would be read as a missing value"
        elif read and read != label:
            wrong = f"would become {read!r:.80}"
        elif label in numbers:
            wrong = f"would become the number {label:.80}"
        else:
            continue
        remedy = f'frame["{labels.name}"].replace({label!r:.80}, "a new name")'
        raise UserError(
            f'the frame, column "{labels.name}": the class {label!r:.80} {wrong}; rename it, as in'
            f" {remedy}"
        )


def of_rows(message: str, path: Path, table: pd.DataFrame) -> str:
    """Rewrite the message of an error about such a file, for the frame that the user gave."""

    def row(found: re.Match[str]) -> str:
        number = int(found[2]) - 2  # the first line has the names
        return f"{found[1]}row {table.index[number]}" if 0 <= number < len(table) else ""

    file = rf"(stream \S+: )?[^\s,:]*{re.escape(f'{path.parent.name}/{path.name}')}"
    return re.sub(r"(, |\b)line (\d+)", row, re.sub(file, "the frame", message))


def _line(text: str) -> str:
    """Return a text as one line."""
    return " ".join(text.splitlines())


def _as_frame(given: Any) -> pd.DataFrame:
    """Return a frame as it is, and a Series as a frame of one column."""
    if given.ndim == 2:
        return given
    return given.to_frame("value" if given.name is None else given.name)


def _refuse_names(name: str, table: pd.DataFrame) -> None:
    """Raise UserError for names that the family could not read from a file."""
    try:
        TypeAdapter(Name).validate_python(name)
    except ValidationError:
        raise UserError(
            f'name: "{name}"; give small letters, digits and hyphens, at most 100'
        ) from None
    if table.columns.nlevels > 1:
        raise UserError("the columns have several levels; join them to one name each")
    refuse_doubled("columns", table.columns)
    numbers = [str(one) for one in table.columns if csv_files.is_number(str(one))]
    if numbers:
        raise UserError(
            f"columns named by numbers: {listed(numbers)}; give them names with letters, such as"
            ' frame.rename(columns=lambda name: f"x{name}")'
        )


def _with_time(table: pd.DataFrame, time: str | None) -> pd.DataFrame:
    """Return the table with its index as a column, if that is the column of time."""
    if time is None or time != table.index.name or time in table.columns:
        return table
    return table.reset_index()


def _dated(column: pd.Series) -> pd.Series:
    """Return a column of time as the families read one. UserError for parts of a second."""
    from pandas import DatetimeTZDtype, PeriodDtype  # pandas takes a second

    if isinstance(column.dtype, PeriodDtype):
        texts = column.map(str)
        column = texts if texts.map(times.is_date).all() else column.dt.start_time
    if isinstance(column.dtype, DatetimeTZDtype):
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    given = column.dropna()
    if column.dtype.kind == "M" and (given.dt.floor("s") != given).any():
        raise UserError(
            f'the frame, column "{column.name}": times with parts of a second; round them, or give'
            " the seconds as numbers"
        )
    return column

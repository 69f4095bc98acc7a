"""Reader of series in files: CSV, or JSON in the form of the Turing Change Point Dataset.

One row is one value, in order of time. For the forms of the files see `_series_columns`. Errors
name file, line or number of the value, and column.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shiftbench.core.errors import UserError
from shiftbench.core.suggestions import unknown
from shiftbench.data import csv_words, number_range, times
from shiftbench.data.csv_files import is_missing, is_number
from shiftbench.data.series import _series_columns
from shiftbench.data.series._series_columns import Column

FEWEST = 3
"""Number of values of the shortest series."""


class Table(NamedTuple):
    """The content of a file: value [time, series], names of the series, labels of time [time].

    time_name: name of time in the file, empty if the labels are 1, 2, ... name: of the whole, for
    files of annotations. filled: whether values were missing.
    """

    value: np.ndarray
    names: Sequence[str]
    time: np.ndarray
    time_name: str
    name: str
    filled: bool


def read(path: Path, columns: Sequence[str], time: str, delimiter: str, gaps: str) -> Table:
    """Read columns of a file; by default all with numbers.

    Parameters
    ----------
    path : a .json file, or else CSV; plain, .gz or .xz
    columns : names of the columns
    time : the column of time; empty for none, or the labels of a JSON file
    delimiter : separator of the cells of a CSV file
    gaps : `refuse` or `interpolate`

    Raises
    ------
    UserError
        with the position in the file, if the file is wrong or a column is missing
    """
    name, time_name, all_columns = _series_columns.read(path, time, delimiter)
    by_name = {column.name: column for column in all_columns}
    if len(by_name) < len(all_columns):
        twice = next(column.name for column in all_columns if by_name[column.name] is not column)
        raise UserError(f'{path}: two columns are called "{twice}"; rename one')
    labels = by_name.pop(time_name) if time_name else None
    if not by_name:
        raise UserError(f'{path}: there is no column beside "{time_name}"; add numbers')
    chosen = _chosen(path, by_name, columns)
    if len(chosen[0].cells) < FEWEST:
        raise UserError(f"{path}: {len(chosen[0].cells)} values; a series has at least {FEWEST}")
    value = np.stack([_numbers(path, column, gaps) for column in chosen], axis=1)
    missing = np.isnan(value)
    for number, column in enumerate(chosen):
        value[:, number] = _interpolated(path, column.name, value[:, number])
    return Table(
        value,
        [column.name for column in chosen],
        times.labels(labels.cells, partial(labels.place, path), labels.row)
        if labels
        else 1 + np.arange(len(value)),
        labels.name if labels else "",
        name,
        bool(missing.any()),
    )


def positions(source: str | Mapping[str, Sequence[int]], name: str) -> dict[str, list[int]]:
    """Return the positions of each annotator, from a mapping or a JSON file.

    The file has {annotator: [positions]}, or {name: {annotator: [positions]}} for several series.
    UserError for another form.
    """
    if not isinstance(source, str):
        return {str(annotator): list(points) for annotator, points in source.items()}
    path = Path(source)
    content = _series_columns.parsed(path)
    if isinstance(content, dict) and content and all(isinstance(v, dict) for v in content.values()):
        if name not in content:
            raise UserError(f"{path}: {unknown('series', name, content)}")
        content = content[name]
    if not isinstance(content, dict) or not all(map(_is_positions, content.values())):
        raise UserError(
            f'{path}: annotations are {{"annotator": [position, ...]}}, with positions in whole'
            ' numbers; or that by name of the series, as {"NAME": {"annotator": [...]}}'
        )
    return content


def refuse_outside(place: str, marks: Mapping[str, Sequence[int]], values: int) -> None:
    """Raise UserError for a position at which no new segment can start."""
    if not marks:
        raise UserError(f"{place}: there is no annotator; remove the annotations")
    for annotator, points in marks.items():
        for point in points:
            if not 0 < point < values:
                raise UserError(
                    f"{place}: annotator {annotator} has position {point}, but a new segment can"
                    f" start at 1 to {values - 1}: the first of the {values} values is number 0"
                )


def _chosen(path: Path, columns: Mapping[str, Column], wanted: Sequence[str]) -> list[Column]:
    """Return the wanted columns, or if none is, all but those of texts without a number."""
    for name in wanted:
        if name not in columns:
            raise UserError(f"{path}: {unknown('column', name, columns)}")
        if wanted.count(name) > 1:
            raise UserError(f'{path}: `columns` has "{name}" twice; name each column once')
    if wanted:
        return [columns[name] for name in wanted]
    chosen = [column for column in columns.values() if not _has_texts_alone(column.cells)]
    if not chosen:
        raise _without_numbers(path, columns.values())
    return chosen


def _without_numbers(path: Path, columns: Collection[Column]) -> UserError:
    """Return the error for columns of texts alone: it quotes the first, if possible no date."""

    def first(column: Column) -> int:
        return next(row for row, cell in enumerate(column.cells) if not is_missing(cell))

    def order(column: Column) -> tuple[bool, int]:
        row = first(column)
        return times.is_date(str(column.cells[row])), row

    column = min(columns, key=order)
    row = first(column)
    reason = f"{column.cells[row]!r:.80} is not a number; write numbers such as 1000.5"
    return UserError(f"{column.place(path, row)}: {reason}")


def _numbers(path: Path, column: Column, gaps: str) -> np.ndarray:
    """Return the numbers of a column [time], NaN for gaps. UserError for gaps that are refused."""
    numbers = np.empty(len(column.cells))
    for row, content in enumerate(column.cells):
        if is_number(content):
            numbers[row] = float(content)
        elif not is_missing(content):
            where = column.place(path, row)
            raise UserError(f"{where}: {_not_a_number(content)}")
        elif gaps == "refuse":
            where = column.place(path, row)
            raise UserError(f"{where}: a gap; fill it in, or set `gaps: interpolate`")
        else:
            numbers[row] = np.nan
    for row in np.flatnonzero(number_range.is_extreme(numbers))[:1]:
        where = column.place(path, row)
        raise UserError(f"{where}: {numbers[row]:g} {number_range.REASON}")
    return numbers


def _interpolated(path: Path, name: str, numbers: np.ndarray) -> np.ndarray:
    """Fill gaps on the line between their neighbours; at an end, with the nearest number."""
    present = np.flatnonzero(~np.isnan(numbers))
    if not len(present):
        raise UserError(f'{path}, column "{name}" has only gaps; choose other `columns`')
    return np.interp(np.arange(len(numbers)), present, numbers[present])


def _is_positions(content: Any) -> bool:
    return isinstance(content, list) and all(type(point) is int for point in content)


def _has_texts_alone(cells: Sequence[Any]) -> bool:
    """Return whether some cells are texts, and none is a number, even with a comma."""
    with_text = False
    for cell in cells:
        if is_number(cell) or csv_words.with_comma(cell):
            return False
        with_text = with_text or not is_missing(cell)
    return with_text


def _not_a_number(content: Any) -> str:
    """Say that a cell is not a number, and what to do."""
    if message := csv_words.with_thousands(content):
        return message
    if csv_words.with_comma(content):
        return f"{content!r:.80} is not a number; write a decimal point"
    try:
        finite = math.isfinite(float(content))
    except (TypeError, ValueError):
        finite = True
    except OverflowError:  # a whole number of a JSON file
        finite = False
    if not finite:
        return f"{content!r:.80} is not a finite number; correct it"
    return csv_words.not_a_number(content)

"""Reader of series in files: CSV, or JSON in the form of the Turing Change Point Dataset.

CSV: one row a value, in order of time. A first line without a number names the columns; without
such a line they are called 1, 2, ... JSON: {"series": [{"label": ..., "raw": [values]}, ...]}, with
labels of time in {"time": {"raw": [...]}} if there are any, and the `name` of the series. Errors
name file, line or number of the value, and column.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shiftbench.core.errors import UserError
from shiftbench.core.suggestions import unknown
from shiftbench.data import number_range, times
from shiftbench.data.times import is_number

GAPS = ("", "na", "n/a", "nan", "null", "none", "?")
"""Texts that stand for a missing value, in small letters."""
FEWEST = 3
"""Number of values of the shortest series."""
TIME = "time"
"""Name of the labels of time in a JSON file."""


class Column(NamedTuple):
    """A column of a file: its cells, texts or JSON values, and their lines in a CSV."""

    name: str
    cells: Sequence[Any]
    lines: Sequence[int] = ()

    def row(self, number: int) -> str:
        """Return the position of a cell, for messages."""
        return f"line {self.lines[number]}" if self.lines else f"value {number + 1}"

    def place(self, path: Path, number: int) -> str:
        """Return the position of a cell with file and column."""
        return f'{path}, {self.row(number)}, column "{self.name}"'


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
    """Read columns of a file; by default all that start with a number.

    Parameters
    ----------
    path : a .json file, or else CSV
    columns : names of the columns
    time : the column of time; empty for none, or the labels of a JSON file
    delimiter : separator of the cells of a CSV file
    gaps : `refuse` or `interpolate`

    Raises
    ------
    UserError
        with the position in the file, if the file is wrong or a column is missing
    """
    if path.is_dir():
        raise UserError(f"{path} is a folder; name one file, a CSV or a JSON")
    form = _json if path.suffix.lower() == ".json" else _csv
    name, time_name, all_columns = form(path, time, delimiter)
    by_name = {column.name: column for column in all_columns}
    if len(by_name) < len(all_columns):
        twice = next(column.name for column in all_columns if by_name[column.name] is not column)
        raise UserError(f'{path}: two columns are called "{twice}"; rename one')
    labels = by_name.pop(time_name) if time_name else None
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
    content = _parsed(path)
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


def _csv(path: Path, time: str, delimiter: str) -> tuple[str, str, list[Column]]:
    """Return name, column of time and columns of a CSV file."""
    rows = list(_rows(path, delimiter))
    if not rows:
        raise UserError(f"{path}: no row; a series has one row a value")
    head = [cell.strip() for cell in rows[0][1]]
    has_names = not any(is_number(cell) for cell in head)
    names = head if has_names else [str(number) for number in range(1, len(head) + 1)]
    for line, cells in rows:
        if len(cells) != len(names):
            reason = f"{len(cells)} cells, but the first line has {len(names)}"
            raise UserError(f"{path}, line {line}: {reason}; is the delimiter {delimiter!r}?")
    if time and time not in names:
        raise UserError(f"{path}, line {rows[0][0]}: {unknown('column of time', time, names)}")
    body = rows[1:] if has_names else rows
    lines = [line for line, _ in body]
    columns = [
        Column(name, [cells[number].strip() for _, cells in body], lines)
        for number, name in enumerate(names)
    ]
    return path.stem, time, columns


def _rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV file with their lines. UserError for an empty line between rows."""
    empty = 0
    reader = csv.reader(io.StringIO(_text(path), newline=""), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if cells and empty:
                raise UserError(f"{path}, line {empty}: an empty line; remove it")
            if cells:
                yield reader.line_num, cells
            else:
                empty = empty or reader.line_num
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num}: no CSV ({error})") from None


def _json(path: Path, time: str, delimiter: str) -> tuple[str, str, list[Column]]:
    """Return name, column of time and columns of a JSON file."""
    content = _parsed(path)
    series = content.get("series") if isinstance(content, dict) else None
    if not isinstance(series, list) or not series or not all(map(_is_series, series)):
        raise UserError(
            f'{path}: no series; the form is {{"series": [{{"label": "NAME", "raw": [1.5, ...]}}]}}'
        )
    of_time = content.get("time")
    if not isinstance(of_time, dict | None):
        raise UserError(f'{path}: time is {of_time!r:.40}; its form is {{"raw": [...]}}')
    labels = of_time.get("raw") if isinstance(of_time, dict) else None
    if time and labels is None:
        raise UserError(f'{path}: no labels of time; they are in {{"time": {{"raw": [...]}}}}')
    time = (time or TIME) if labels is not None else ""
    columns = [
        Column(str(entry.get("label", number)), entry["raw"])
        for number, entry in enumerate(series, 1)
    ]
    if labels is not None:
        columns.append(Column(time, labels))
    length = len(columns[0].cells)
    for column in columns:
        if not isinstance(column.cells, list) or len(column.cells) != length:
            raise UserError(
                f'{path}: "{column.name}" has not {length} values, as the first series has'
            )
    return str(content.get("name", path.stem)), time, columns


def _parsed(path: Path) -> Any:
    try:
        return json.loads(_text(path))
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise UserError(f"{path}, {place}: no JSON ({error.msg})") from None
    except RecursionError:
        raise UserError(f"{path}: no JSON (too many brackets inside brackets)") from None
    except ValueError:  # of Python, which limits the digits of a whole number
        raise UserError(f"{path}: a number of thousands of digits; correct it") from None


def _text(path: Path) -> str:
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + content.count(b"\n", 0, error.start)
        raise UserError(
            f"{path}, line {line}: no UTF-8 ({error.reason}); save it as UTF-8"
        ) from None


def _chosen(path: Path, columns: Mapping[str, Column], wanted: Sequence[str]) -> list[Column]:
    """Return the wanted columns, or if none is, all that start with a number or a gap."""
    for name in wanted:
        if name not in columns:
            raise UserError(f"{path}: {unknown('column', name, columns)}")
        if wanted.count(name) > 1:
            raise UserError(f'{path}: `columns` has "{name}" twice; name each column once')
    if wanted:
        return [columns[name] for name in wanted]
    chosen = [column for column in columns.values() if column.cells and _starts(column.cells[0])]
    if not chosen:
        raise UserError(
            f"{path}: no column starts with a number, of {', '.join(map(repr, columns))};"
            " is `delimiter` right?"
        )
    return chosen


def _numbers(path: Path, column: Column, gaps: str) -> np.ndarray:
    """Return the numbers of a column [time], NaN for gaps. UserError for gaps that are refused."""
    numbers = np.empty(len(column.cells))
    for row, content in enumerate(column.cells):
        if is_number(content):
            numbers[row] = float(content)
        elif not _is_gap(content):
            where = column.place(path, row)
            raise UserError(f"{where}: {content!r:.80} is no finite number; correct it")
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
        raise UserError(f'{path}, column "{name}": no number, only gaps; choose other `columns`')
    return np.interp(np.arange(len(numbers)), present, numbers[present])


def _is_series(content: Any) -> bool:
    return isinstance(content, dict) and isinstance(content.get("raw"), list)


def _is_positions(content: Any) -> bool:
    return isinstance(content, list) and all(type(point) is int for point in content)


def _is_gap(content: Any) -> bool:
    return content is None or (isinstance(content, str) and content.lower() in GAPS)


def _starts(content: Any) -> bool:
    """Return whether a column whose first cell this is has numbers."""
    return _is_gap(content) or is_number(content)

"""Reader of series in files: CSV, or JSON in the form of the Turing Change Point Dataset.

CSV: a row a value, in order of time. A first line without a number names the columns; without
such a line they are called 1, 2, ... JSON: {"series": [{"label": ..., "raw": [values]}, ...]},
with labels of time in {"time": {"raw": [...]}} if there are any, and the `name` of the series.
Whatever is wrong is told by file and line, or place, and column.
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
from shiftbench.data import times
from shiftbench.data.times import is_number

GAPS = ("", "na", "n/a", "nan", "null", "none", "?")
"""What stands for a missing value, in small letters."""
FEWEST = 3
"""Values of the shortest series."""
TIME = "time"
"""What the labels of time in a JSON file are called."""


class Column(NamedTuple):
    """A column of a file: its cells, texts or what a JSON file has, and the lines of a CSV."""

    name: str
    cells: Sequence[Any]
    lines: Sequence[int] = ()

    def row(self, number: int) -> str:
        """Where a cell stands, for messages."""
        return f"line {self.lines[number]}" if self.lines else f"value {number + 1}"

    def place(self, path: Path, number: int) -> str:
        """The same with file and column."""
        return f'{path}, {self.row(number)}, column "{self.name}"'


class Table(NamedTuple):
    """What is read of a file: value [time, series], names of the series, labels of time [time].

    time_name: what the file calls time, empty where it has none and labels are 1, 2, ... name: of
    the whole, as annotations may call it. filled: whether values were missing.
    """

    value: np.ndarray
    names: Sequence[str]
    time: np.ndarray
    time_name: str
    name: str
    filled: bool


def read(path: Path, columns: Sequence[str], time: str, delimiter: str, gaps: str) -> Table:
    """The columns of a file, all with a number in the first row where none is named.

    gaps: `refuse` or `interpolate`. UserError, with its place, for what is wrong.
    """
    if path.is_dir():
        raise UserError(f"{path} is a folder; name one file, a CSV or a JSON")
    form = _json if path.suffix.lower() == ".json" else _csv
    name, time_name, found = form(path, time, delimiter)
    named = {column.name: column for column in found}
    if len(named) < len(found):
        twice = next(one.name for one in found if named[one.name] is not one)
        raise UserError(f'{path}: two columns are called "{twice}"; rename one')
    labels = named.pop(time_name) if time_name else None
    chosen = _chosen(path, named, columns)
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


def annotations(source: str | Mapping[str, Sequence[int]], name: str) -> dict[str, list[int]]:
    """The positions of each annotator: as they are, or from a JSON file.

    The file has {annotator: [positions]} or, for several series, that by the name of each.
    UserError for another form.
    """
    if not isinstance(source, str):
        return {str(annotator): list(points) for annotator, points in source.items()}
    path = Path(source)
    found = _parsed(path)
    if isinstance(found, dict) and found and all(isinstance(v, dict) for v in found.values()):
        if name not in found:
            raise UserError(f"{path}: {unknown('series', name, found)}")
        found = found[name]
    if not isinstance(found, dict) or not all(_is_positions(one) for one in found.values()):
        raise UserError(
            f'{path}: annotations are {{"annotator": [position, ...]}}, with positions in whole'
            ' numbers; or that by name of the series, as {"NAME": {"annotator": [...]}}'
        )
    return found


def refuse_outside(place: str, marks: Mapping[str, Sequence[int]], values: int) -> None:
    """UserError for a position at which no new segment can start."""
    if not marks:
        raise UserError(f"{place}: there is no annotator; take the annotations out")
    for annotator, points in marks.items():
        for point in points:
            if not 0 < point < values:
                raise UserError(
                    f"{place}: annotator {annotator} has position {point}, but a new segment can"
                    f" start at 1 to {values - 1}: the first of the {values} values is number 0"
                )


def _csv(path: Path, time: str, delimiter: str) -> tuple[str, str, list[Column]]:
    """Name, column of time and columns of a CSV file."""
    rows = list(_rows(path, delimiter))
    if not rows:
        raise UserError(f"{path}: no row; a series has a row a value")
    head = [cell.strip() for cell in rows[0][1]]
    headed = not any(is_number(cell) for cell in head)
    names = head if headed else [str(number) for number in range(1, len(head) + 1)]
    for line, cells in rows:
        if len(cells) != len(names):
            words = f"{len(cells)} cells, but the first line has {len(names)}"
            raise UserError(f"{path}, line {line}: {words}; is the delimiter {delimiter!r}?")
    if time and time not in names:
        raise UserError(f"{path}, line {rows[0][0]}: {unknown('column of time', time, names)}")
    body = rows[1:] if headed else rows
    lines = [line for line, _ in body]
    columns = [
        Column(name, [cells[number].strip() for _, cells in body], lines)
        for number, name in enumerate(names)
    ]
    return path.stem, time, columns


def _rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file with their lines. UserError for an empty line among them."""
    empty = 0
    reader = csv.reader(io.StringIO(_text(path), newline=""), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if cells and empty:
                raise UserError(f"{path}, line {empty}: an empty line; take it out")
            if cells:
                yield reader.line_num, cells
            else:
                empty = empty or reader.line_num
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num}: no CSV ({error})") from None


def _json(path: Path, time: str, delimiter: str) -> tuple[str, str, list[Column]]:
    """Name, column of time and columns of a JSON file."""
    found = _parsed(path)
    series = found.get("series") if isinstance(found, dict) else None
    if not isinstance(series, list) or not series or not all(map(_is_series, series)):
        raise UserError(
            f'{path}: no series; the form is {{"series": [{{"label": "NAME", "raw": [1.5, ...]}}]}}'
        )
    of_time = found.get("time")
    labels = of_time.get("raw") if isinstance(of_time, dict) else None
    if time and labels is None:
        raise UserError(f'{path}: no labels of time; they are in {{"time": {{"raw": [...]}}}}')
    time = (time or TIME) if labels is not None else ""
    raw = [(str(one.get("label", number)), one["raw"]) for number, one in enumerate(series, 1)]
    raw += [(time, labels)] if time else []
    length = len(series[0]["raw"])
    for label, values in raw:
        if not isinstance(values, list) or len(values) != length:
            raise UserError(f'{path}: "{label}" has not {length} values, as the first series has')
    columns = [Column(label, values) for label, values in raw]
    return str(found.get("name", path.stem)), time, columns


def _parsed(path: Path) -> Any:
    try:
        return json.loads(_text(path))
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise UserError(f"{path}, {place}: no JSON ({error.msg})") from None
    except RecursionError:
        raise UserError(f"{path}: no JSON (too many brackets inside brackets)") from None


def _text(path: Path) -> str:
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + content.count(b"\n", 0, error.start)
        raise UserError(
            f"{path}, line {line}: no UTF-8 ({error.reason}); save it as UTF-8"
        ) from None


def _chosen(path: Path, named: Mapping[str, Column], wanted: Sequence[str]) -> list[Column]:
    """The columns that are named, or else those that start with a number or a gap."""
    for name in wanted:
        if name not in named:
            raise UserError(f"{path}: {unknown('column', name, named)}")
    if wanted:
        return [named[name] for name in wanted]
    chosen = [one for one in named.values() if one.cells and _starts(one.cells[0])]
    if not chosen:
        raise UserError(
            f"{path}: no column starts with a number, of {', '.join(map(repr, named))};"
            " is `delimiter` right?"
        )
    return chosen


def _numbers(path: Path, column: Column, gaps: str) -> np.ndarray:
    """The numbers of a column [time], NaN where one is missing and may be."""
    numbers = np.empty(len(column.cells))
    for row, content in enumerate(column.cells):
        if is_number(content):
            numbers[row] = float(content)
        elif not _is_gap(content):
            where = column.place(path, row)
            raise UserError(f"{where}: {content!r} is no finite number; correct it")
        elif gaps == "refuse":
            where = column.place(path, row)
            raise UserError(f"{where}: a gap; fill it in, or set `gaps: interpolate`")
        else:
            numbers[row] = np.nan
    return numbers


def _interpolated(path: Path, name: str, numbers: np.ndarray) -> np.ndarray:
    """The numbers with gaps on the line between their neighbours; at an end, as the nearest."""
    known = np.flatnonzero(~np.isnan(numbers))
    if not len(known):
        raise UserError(f'{path}, column "{name}": no number, only gaps; choose other `columns`')
    return np.interp(np.arange(len(numbers)), known, numbers[known])


def _is_series(found: Any) -> bool:
    return isinstance(found, dict) and isinstance(found.get("raw"), list)


def _is_positions(found: Any) -> bool:
    return isinstance(found, list) and all(type(point) is int for point in found)


def _is_gap(content: Any) -> bool:
    return content is None or (isinstance(content, str) and content.lower() in GAPS)


def _starts(content: Any) -> bool:
    """Whether a column that starts so is one of numbers."""
    return _is_gap(content) or is_number(content)

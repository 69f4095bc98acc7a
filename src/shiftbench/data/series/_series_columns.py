"""Columns of files of series: all cells of a CSV or a JSON file, before any is a number.

CSV: a first line without a number names the columns; without such a line they are called 1, 2, ...
JSON: {"series": [{"label": ..., "raw": [values]}, ...]}, with labels of time in
{"time": {"raw": [...]}} if there are any, and the `name` of the series.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from shiftbench.core.errors import UserError
from shiftbench.core.suggestions import unknown
from shiftbench.data import csv_files, csv_words
from shiftbench.data.csv_files import is_number

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


def read(path: Path, time: str, delimiter: str) -> tuple[str, str, list[Column]]:
    """Return name, column of time and columns of a file: .json, or else CSV; plain, .gz or .xz.

    time is empty for none, or the labels of a JSON file. UserError, with file and line, if the file
    is wrong, or has no row.
    """
    if path.is_dir():
        raise UserError(f"{path} is a folder; name one file, a CSV or a JSON")
    form = _json if csv_files.unpacked(path).suffix.lower() == ".json" else _csv
    return form(path, time, delimiter)


def _csv(path: Path, time: str, delimiter: str) -> tuple[str, str, list[Column]]:
    """Return name, column of time and columns of a CSV file."""
    rows = list(csv_files.rows(path, delimiter))
    head = [cell.strip() for cell in rows[0][1]] if rows else []
    has_names = not any(is_number(cell) for cell in head)
    body = rows[1:] if has_names else rows
    if not body:
        raise UserError(f"{path} has no row; a series has one row for each value")
    below = delimiter.join(body[0][1])
    wrong = csv_words.one_column(head, delimiter, below) or csv_words.nameless(head)
    if has_names and wrong:
        raise UserError(f"{path}, line {rows[0][0]}: {wrong}")
    names = head if has_names else [str(number) for number in range(1, len(head) + 1)]
    for line, cells in rows:
        if len(cells) != len(names):
            reason = f"{len(cells)} cells, but the first line has {len(names)}"
            raise UserError(f"{path}, line {line}: {reason}; is the delimiter {delimiter!r}?")
    if time and time not in names:
        raise UserError(f"{path}, line {rows[0][0]}: {unknown('column of time', time, names)}")
    lines = [line for line, _ in body]
    columns = [
        Column(name, [cells[number].strip() for _, cells in body], lines)
        for number, name in enumerate(names)
    ]
    return csv_files.unpacked(path).stem, time, columns


def _json(path: Path, time: str, delimiter: str) -> tuple[str, str, list[Column]]:
    """Return name, column of time and columns of a JSON file."""
    content = parsed(path)
    series = content.get("series") if isinstance(content, dict) else None
    if not isinstance(series, list) or not series or not all(map(_is_series, series)):
        raise UserError(
            f'{path} has no series; the form is {{"series": [{{"label": "NAME", "raw":'
            " [1.5, ...]}]}"
        )
    of_time = content.get("time")
    if not isinstance(of_time, dict | None):
        raise UserError(f'{path}: time is {of_time!r:.40}; its form is {{"raw": [...]}}')
    labels = of_time.get("raw") if isinstance(of_time, dict) else None
    if time and labels is None:
        raise UserError(f'{path} has no labels of time; they are in {{"time": {{"raw": [...]}}}}')
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
    return str(content.get("name", csv_files.unpacked(path).stem)), time, columns


def parsed(path: Path) -> Any:
    """Return the content of a JSON file. UserError, with the line, if it is not JSON."""
    try:
        return json.loads("".join(csv_files.lines(path)))
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise UserError(
            f"{path}, {place}: this is not valid JSON ({error.msg}); correct it"
        ) from None
    except RecursionError:
        raise UserError(
            f"{path} is not valid JSON (too many brackets inside brackets); correct it"
        ) from None
    except ValueError:  # of Python, which limits the digits of a whole number
        raise UserError(f"{path}: a number of thousands of digits; correct it") from None


def _is_series(content: Any) -> bool:
    return isinstance(content, dict) and isinstance(content.get("raw"), list)

"""Reader of a user's tables: CSV (plain, .gz or .xz) and Parquet; errors name line and column.

The first line of a CSV file names the columns; a Parquet file needs pyarrow, which is no
dependency. Numbers have decimal points, and no value may be missing.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shiftbench.core import suggestions
from shiftbench.core.errors import UserError
from shiftbench.data import csv_files, csv_words, number_range
from shiftbench.data.csv_files import is_missing, is_number

PARQUET = (".parquet", ".pq")


class Rows(NamedTuple):
    """Rows of a table in the order of the file.

    numbers: [row, column] float64, all finite; words: column -> texts [row]; places: [row]
    lines of a CSV file, or rows of a Parquet file, counted from 1.
    """

    numbers: np.ndarray
    words: dict[str, list[str]]
    places: Sequence[int]


def header(path: Path, delimiter: str = ",") -> list[str]:
    """Return the names of the columns. UserError for missing or duplicate names."""
    names = [name.strip() for name in next(_records(path, delimiter), (1, []))[1]]
    if not names:
        raise wrong(path, 1, "it is empty; its first line has to name the columns")
    if reason := csv_words.one_column(names, delimiter):
        raise wrong(path, 1, reason)
    if all(is_number(name) for name in names):
        raise wrong(path, 1, "it has numbers where the names of the columns should be; add them")
    if reason := csv_words.nameless(names):
        raise wrong(path, 1, reason)
    for number, name in enumerate(names, 1):
        if (first := names.index(name) + 1) < number:
            text = f"columns {first} and {number} are both named {name!r}; rename one"
            raise wrong(path, 1, text)
    return names


def refuse_unknown(path: Path, columns: Sequence[str], names: Sequence[str]) -> None:
    """Raise UserError for the first column that is not among the names of the table."""
    for column in columns:
        if column not in names:
            raise wrong(path, 1, suggestions.unknown("column", column, names))


def read(
    path: Path, numbers: Sequence[str], words: Sequence[str] = (), delimiter: str = ","
) -> Rows:
    """Read some columns as numbers, others as words.

    UserError, with file, line and column, for a missing value, a value that is not a number, a row
    that is longer or shorter than the header, and a table without rows.
    """
    names = header(path, delimiter)
    refuse_unknown(path, [*numbers, *words], names)
    number_columns = [names.index(name) for name in numbers]
    word_columns = [(names.index(name), name) for name in words]
    texts: dict[str, list[str]] = {name: [] for name in words}
    values, places = array("d"), array("q")
    records = _records(path, delimiter)
    next(records)
    for place, fields in records:
        if len(fields) != len(names):
            raise wrong(path, place, _ragged(len(fields), len(names)))
        row = [fields[column] for column in number_columns]
        try:
            values.extend(map(float, row))
        except ValueError:
            raise _not_a_number(path, place, numbers, row) from None
        if "_" in "".join(row):  # Python accepts it in a number
            raise _not_a_number(path, place, numbers, row)
        for column, name in word_columns:
            texts[name].append(fields[column].strip())
            if is_missing(texts[name][-1]):
                raise wrong(path, place, _missing(fields[column]), name)
        places.append(place)
    if not places:
        raise wrong(path, 1, "there is no row below the names of the columns")
    table = np.frombuffer(values).reshape(len(places), len(numbers))
    for at, column in np.argwhere(~np.isfinite(table))[:1]:
        text = _missing("nan") if np.isnan(table[at, column]) else "the number is infinite"
        raise wrong(path, places[at], text, numbers[column])
    for at, column in np.argwhere(number_range.is_extreme(table))[:1]:
        text = f"{table[at, column]:g} {number_range.REASON}"
        raise wrong(path, places[at], text, numbers[column])
    return Rows(table, texts, places)


def without_numbers(path: Path, columns: Sequence[str], delimiter: str = ",") -> list[str]:
    """Return the columns that have texts and no number: dates, names, remarks.

    A number with a comma counts as a number, so that `read` refuses it.
    """
    names = header(path, delimiter)
    candidates = {name: names.index(name) for name in columns}
    with_text: set[str] = set()
    records = _records(path, delimiter)
    next(records)
    for _, fields in records:
        if not candidates or len(fields) != len(names):  # `read` refuses the latter
            break
        for name, column in list(candidates.items()):
            text = fields[column].strip()
            if is_missing(text):
                continue
            if is_number(text) or csv_words.with_comma(text):
                del candidates[name]
            else:
                with_text.add(name)
    return [name for name in candidates if name in with_text]


def wrong(path: Path, row: int, reason: str, column: str = "") -> UserError:
    """Return the error for a line, or a row, of a file."""
    return UserError(f"{where(path, row, column)}: {reason}")


def where(path: Path, row: int, column: str = "") -> str:
    """Return the position of a value: file, line or row, and column."""
    return f"{path}, {line(path, row)}" + (f', column "{column}"' if column else "")


def line(path: Path, row: int) -> str:
    """Return the name of a line of a CSV file, or of a row of a Parquet file."""
    return f"{'row' if path.suffix in PARQUET else 'line'} {row}"


def _records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each row with its line, the names of the columns first."""
    if path.is_dir():
        raise UserError(f"{path} is a folder, not a table; name the file in it")
    if path.suffix in PARQUET:
        yield from _parquet(path)
        return
    yield from csv_files.rows(path, delimiter)


def _parquet(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the values as texts, from which `float` restores numbers exactly."""
    import pandas as pd

    try:
        table = pd.read_parquet(path)
    except ImportError:
        raise UserError(
            f"{path}: reading Parquet needs pyarrow, which is not installed here. Install it beside"
            " shiftbench, or save the table as CSV"
        ) from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: it is not a Parquet file ({error})") from None
    yield 1, [str(name) for name in table]
    filled = table.astype(object).where(table.notna(), "")
    for place, row in enumerate(filled.itertuples(index=False), 1):
        yield place, [str(value) for value in row]


def _not_a_number(
    path: Path, place: int, columns: Sequence[str], values: Sequence[str]
) -> UserError:
    """Return the error for the first of these values that is not a number."""
    column, text = next(
        pair for pair in zip(columns, values, strict=True) if not is_number(pair[1])
    )
    if is_missing(text):
        reason = _missing(text)
    elif message := csv_words.with_thousands(text):
        reason = message
    elif csv_words.with_comma(text):
        reason = f"{text!r:.80} has a decimal comma; write {text.strip().replace(',', '.'):.80}"
    else:
        reason = csv_words.not_a_number(text)
    return wrong(path, place, reason, column)


def _missing(text: str) -> str:
    written = f" ({text.strip()})" if text.strip() else ""
    return f"the value is missing{written}; fill it in, delete the row or leave the column out"


def _ragged(values: int, columns: int) -> str:
    hint = "; a decimal comma, or a comma in a text, needs quotes" if values > columns else ""
    return f"it has {values} values, but the first line names {columns} columns{hint}"

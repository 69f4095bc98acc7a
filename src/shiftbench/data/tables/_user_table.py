"""Tables of a user's own: CSV (plain, .gz or .xz) and Parquet, each mistake told by its place.

The first line of a CSV file names the columns; a Parquet file needs pyarrow, which is no
dependency. Numbers have decimal points, and no value may be missing.
"""

from __future__ import annotations

import csv
import gzip
import lzma
import re
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from shiftbench.core import suggestions
from shiftbench.core.errors import UserError

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t"}
OPENERS: dict[str, Callable[..., IO[bytes]]] = {".gz": gzip.open, ".xz": lzma.open}
BROKEN = (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError)
PARQUET = (".parquet", ".pq")
MISSING = {"", "na", "n/a", "nan", "null", "none", "?", "-"}
DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*,\d+\s*")


class Rows(NamedTuple):
    """Rows of a table in the order of the file.

    numbers: [row, column] float64, all finite; words: column -> texts [row]; places: [row]
    lines of a CSV file, or rows of a Parquet file, counted from 1.
    """

    numbers: np.ndarray
    words: dict[str, list[str]]
    places: Sequence[int]


def header(path: Path, separator: str = "comma") -> list[str]:
    """The names of the columns. UserError where one has none, or that of another."""
    found = [name.strip() for name in next(_records(path, separator), (1, []))[1]]
    if not found:
        raise wrong(path, 1, "it is empty; its first line has to name the columns")
    other = [word for word, mark in SEPARATORS.items() if mark in found[0]]
    if len(found) == 1 and other:
        raise wrong(path, 1, f"there is one column, {found[0]!r}; set `separator: {other[0]}`")
    if all(is_number(name) for name in found):
        raise wrong(path, 1, "it has numbers where the names of the columns should be; add them")
    for place, name in enumerate(found):
        if not name:
            raise wrong(path, 1, f"column {place + 1} has no name")
        if (first := found.index(name)) < place:
            text = f"columns {first + 1} and {place + 1} are both named {name!r}; rename one"
            raise wrong(path, 1, text)
    return found


def refuse_unknown(path: Path, columns: Sequence[str], known: Sequence[str]) -> None:
    """UserError for the first of these columns that the table does not have."""
    for column in columns:
        if column not in known:
            raise wrong(path, 1, suggestions.unknown("column", column, known))


def read(
    path: Path, numbers: Sequence[str], words: Sequence[str] = (), separator: str = "comma"
) -> Rows:
    """These columns, as numbers or as words.

    UserError with file, line and column for a missing value, what is no number, and a row that is
    longer or shorter than the header; and where there is no row.
    """
    known = header(path, separator)
    refuse_unknown(path, [*numbers, *words], known)
    at = [known.index(name) for name in numbers]
    texts: dict[str, list[str]] = {name: [] for name in words}
    kept = [(known.index(name), name) for name in words]
    found, places = array("d"), array("q")
    records = _records(path, separator)
    next(records)
    for place, fields in records:
        if len(fields) != len(known):
            raise wrong(path, place, _ragged(len(fields), len(known)))
        values = [fields[column] for column in at]
        try:
            found.extend(map(float, values))
        except ValueError:
            raise _refused(path, place, numbers, values) from None
        if "_" in "".join(values):  # which Python takes in a number
            raise _refused(path, place, numbers, values)
        for column, name in kept:
            texts[name].append(fields[column].strip())
            if texts[name][-1].lower() in MISSING:
                raise wrong(path, place, _missing(fields[column]), name)
        places.append(place)
    if not places:
        raise wrong(path, 1, "there is no row below the names of the columns")
    rows = np.frombuffer(found).reshape(len(places), len(at))
    for row, column in np.argwhere(~np.isfinite(rows))[:1]:
        text = _missing("nan") if np.isnan(rows[row, column]) else "the number is infinite"
        raise wrong(path, places[row], text, numbers[column])
    return Rows(rows, texts, places)


def without_numbers(path: Path, columns: Sequence[str], separator: str = "comma") -> list[str]:
    """Those of these columns that have texts and no number: a date, a name, a remark.

    A number with a decimal comma is one here, so that `read` refuses it.
    """
    known = header(path, separator)
    at = {name: known.index(name) for name in columns}
    texts: set[str] = set()
    records = _records(path, separator)
    next(records)
    for _, fields in records:
        if not at or len(fields) != len(known):  # which `read` refuses
            break
        for name, place in list(at.items()):
            text = fields[place].strip()
            if text.lower() in MISSING:
                continue
            if is_number(text) or DECIMAL_COMMA.fullmatch(text):
                del at[name]
            else:
                texts.add(name)
    return [name for name in at if name in texts]


def is_number(text: str) -> bool:
    """Whether a text is a number with a decimal point; NaN and infinity are."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def wrong(path: Path, row: int, reason: str, column: str = "") -> UserError:
    """The error for what stands in a line, or a row, of a file."""
    return UserError(f"{where(path, row, column)}: {reason}")


def where(path: Path, row: int, column: str = "") -> str:
    """Where something stands: file, line or row, and column."""
    return f"{path}, {line(path, row)}" + (f', column "{column}"' if column else "")


def line(path: Path, row: int) -> str:
    """A line of a CSV file, or a row of a Parquet file."""
    return f"{'row' if path.suffix in PARQUET else 'line'} {row}"


def _records(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The fields of each row with its place, the names of the columns first."""
    if path.is_dir():
        raise UserError(f"{path} is a folder, and not a table; name the file in it")
    if path.suffix in PARQUET:
        yield from _parquet(path)
        return
    rows = csv.reader(_lines(path), delimiter=SEPARATORS[separator], strict=True)
    try:
        for fields in rows:
            if fields:
                yield rows.line_num, fields
    except csv.Error as error:
        raise wrong(path, max(rows.line_num, 1), f"it is no CSV ({error})") from None


def _lines(path: Path) -> Iterator[str]:
    number = 0
    try:
        with OPENERS.get(path.suffix, open)(path, "rb") as file:
            for number, line in enumerate(file, 1):
                yield (line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line).decode()
    except UnicodeDecodeError as error:
        text = f"it is no UTF-8 ({error.reason}); save it with that encoding"
        raise wrong(path, number, text) from None
    except BROKEN as error:
        raise wrong(path, number + 1, f"it breaks off or is damaged ({error})") from None


def _parquet(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Values as text, which numbers go through without a change."""
    import pandas as pd

    try:
        table = pd.read_parquet(path)
    except ImportError:
        raise UserError(
            f"{path}: Parquet is read by pyarrow, which is not installed here. Install it beside"
            " shiftbench, or save the table as CSV"
        ) from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: it is no Parquet file ({error})") from None
    yield 1, [str(name) for name in table]
    filled = table.astype(object).where(table.notna(), "")
    for place, row in enumerate(filled.itertuples(index=False), 1):
        yield place, [str(value) for value in row]


def _refused(path: Path, place: int, columns: Sequence[str], values: Sequence[str]) -> UserError:
    """The error for the first of these values that is no number."""
    column, text = next(
        pair for pair in zip(columns, values, strict=True) if not is_number(pair[1])
    )
    if text.strip().lower() in MISSING:
        reason = _missing(text)
    elif DECIMAL_COMMA.fullmatch(text):
        reason = f"{text!r} has a decimal comma; write {text.strip().replace(',', '.')}"
    else:
        reason = f"{text!r} is no number; leave the column out by `columns`, or write numbers"
    return wrong(path, place, reason, column)


def _missing(text: str) -> str:
    told = f" ({text.strip()})" if text.strip() else ""
    return f"the value is missing{told}; fill it in, delete the row or leave the column out"


def _ragged(found: int, wanted: int) -> str:
    more = "; a decimal comma, or a comma in a text, needs quotes" if found > wanted else ""
    return f"it has {found} values, but the first line names {wanted} columns{more}"

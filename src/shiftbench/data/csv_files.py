"""Users' CSV files, for tables and series: rows with their lines, numbers and missing values.

Files are in UTF-8, plain or packed as .gz or .xz. Families of streams choose the columns.
"""

from __future__ import annotations

import csv
import gzip
import io
import lzma
import math
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from shiftbench.core.errors import UserError

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}
BROKEN = (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError)
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MISSING = {"", "na", "n/a", "nan", "null", "none", "?", "-"}
"""Texts that stand for a missing value, in small letters."""


def rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row with its line; empty lines are skipped.

    UserError, with the line, for a file that is not CSV, and for an empty line before a row of a
    single cell, where a value may be missing.
    """
    reader = csv.reader(lines(path), delimiter=delimiter, strict=True)
    empty = 0
    try:
        for cells in reader:
            if cells and not (empty and len(cells) == 1):
                yield reader.line_num, cells
            elif cells:
                raise UserError(f"{path}, line {empty}: an empty line; remove it")
            else:
                empty = empty or reader.line_num
    except csv.Error as error:
        line = max(reader.line_num, 1)
        raise UserError(f"{path}, line {line}: this is not CSV ({error}); correct it") from None


def lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file with their ends. UserError if it is damaged or not UTF-8."""
    number = 0
    try:
        with OPENERS.get(path.suffix, open)(path, "rb") as file:
            for number, content in enumerate(file, 1):
                text = content.removeprefix(BYTE_ORDER_MARK) if number == 1 else content
                yield from io.StringIO(text.decode(), newline="")  # a line may end with \r
    except UnicodeDecodeError as error:
        reason = f"this is not UTF-8 ({error.reason}); save the file as UTF-8"
        raise UserError(f"{path}, line {number}: {reason}") from None
    except BROKEN as error:
        reason = f"the file breaks off or is damaged ({error}); get it again"
        raise UserError(f"{path}, line {number + 1}: {reason}") from None


def unpacked(path: Path) -> Path:
    """Return the path without the suffix of packing."""
    return path.with_suffix("") if path.suffix in OPENERS else path


def is_missing(cell: object) -> bool:
    """Return whether a cell, a text or a value of a JSON file, stands for a missing value."""
    return cell is None or (isinstance(cell, str) and cell.strip().lower() in MISSING)


def is_number(cell: object) -> bool:
    """Return whether this is a finite number, or the text of one with a decimal point."""
    if isinstance(cell, bool) or not isinstance(cell, str | int | float):
        return False
    try:
        return math.isfinite(float(cell)) and "_" not in str(cell)  # Python accepts 1_000
    except (ValueError, OverflowError):
        return False

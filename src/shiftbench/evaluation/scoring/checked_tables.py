"""Reads the CSV tables that the workflow writes, and reports what is wrong with a damaged one.

Only numbers may be missing: pandas would also read a method called "nan" as missing. pandas may
differ from Python in the last digit of a number, so Python parses the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import pandas as pd

from shiftbench.config.compatibility_words import listed
from shiftbench.core.errors import UserError

EXACT = 2**53
"""Whole numbers up to it are exact as floating-point numbers."""


def _number(text: str) -> float:
    """Return the number in a text, NaN for an empty one. ValueError for any other text."""
    number = float(text or "nan")
    if text and math.isnan(number):
        raise ValueError
    return number


def _whole(text: str) -> int:
    """Return a text as an integer. ValueError for a text that is not a whole number."""
    number = float(text)
    if number % 1 != 0 or abs(number) > EXACT:  # the former for NaN and infinity, too
        raise ValueError
    return int(number)


NUMBER, WHOLE = "number", "whole number"
KINDS: Mapping[str, Callable[[str], float]] = {NUMBER: _number, WHOLE: _whole}
"""Function that reads a text, by the kind of a column; only a `NUMBER` may be missing."""


def read(
    path: Path,
    what: str,
    columns: Sequence[str],
    numbers: Mapping[str, str] | None = None,
    filled: Collection[str] = (),
    key: Sequence[str] = (),
) -> pd.DataFrame:
    """Return a table with at least `columns`, as texts but for the columns of numbers.

    Parameters
    ----------
    path
        The file.
    what
        What the file should be, for messages, as "a table of scores".
    columns
        The columns that the table must have; it may have others.
    numbers
        The kind of each column of numbers. NaN stands for a `NUMBER` that is missing.
    filled
        Columns of texts that may not be empty.
    key
        Columns that tell rows apart; empty where rows may be alike, or where there may be none.

    Raises
    ------
    UserError
        For a file that cannot be read or is damaged, with the reason and what to do.
    """
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        _refuse_incomplete(table, columns, filled)
        for name, kind in (numbers or {}).items():
            table[name] = _parsed(table[name], kind)
        if key:
            _refuse_none_and_doubled(table, key)
    except OSError as error:
        raise damaged(path, what, error.strerror or str(error)) from None
    except ValueError as error:  # raised here, by pandas, or for another encoding
        raise damaged(path, what, str(error)) from None
    return table


def damaged(path: Path, what: str, reason: str) -> UserError:
    """Return the error of a file that is not what it should be."""
    remedy = "restore it, or delete it and run the workflow again"
    return UserError(f"{path} is not {what} ({reason.strip()}); {remedy}")


def _refuse_incomplete(
    table: pd.DataFrame, columns: Sequence[str], filled: Collection[str]
) -> None:
    if lacking := [name for name in columns if name not in table]:
        raise ValueError(f"no column {listed(lacking)}")
    if len(table) and not isinstance(table.index, pd.RangeIndex):  # pandas takes them for labels
        raise ValueError("its lines have more fields than the first one")
    for name in filled:
        if (empty := table[name] == "").any():
            raise ValueError(f'line {_line(empty)}, column "{name}": it is empty')


def _refuse_none_and_doubled(table: pd.DataFrame, key: Sequence[str]) -> None:
    if table.empty:
        raise ValueError("no row")
    if (twice := table.duplicated([*key])).any():
        raise ValueError(f"line {_line(twice)}: a line above has the same {listed(key)}")


def _parsed(texts: pd.Series, kind: str) -> list[float]:
    numbers = []
    for place, text in enumerate(texts):
        try:
            numbers.append(KINDS[kind](text))
        except ValueError:
            where = f'line {place + 2}, column "{texts.name}"'
            raise ValueError(f'{where}: "{text}" is not a {kind}') from None
    return numbers


def _line(wrong: pd.Series) -> int:
    """Return the number of the first line that is wrong, below the line of names."""
    return int(wrong.to_numpy().argmax()) + 2

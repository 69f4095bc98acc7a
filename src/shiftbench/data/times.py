"""Labels of time in a user's files: numbers, or dates in one form.

Numbers that are all dates of eight digits, such as 20011231, are dates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shiftbench.core.errors import UserError
from shiftbench.data.csv_files import is_number

DATE = re.compile(r"\d{4}(-\d\d(-\d\d([ T]\d\d:\d\d(:\d\d)?)?)?)?", re.ASCII)
EIGHT_DIGITS = re.compile(r"([12]\d{3})(\d\d)(\d\d)", re.ASCII)
"""A date without dashes, of the years 1000 to 2999."""
EXACT = 2**53
"""Whole numbers below have an exact float."""
LARGEST = 2**63
"""Whole numbers below fit into int64."""
Place = Callable[[int], str]
"""Returns the position of the cell of a row in its file, for messages."""


def labels(cells: Sequence[Any], place: Place, line: Place, repeats: bool = False) -> np.ndarray:
    """Return the labels of time [row], int, float or str, of cells that must be in order.

    Parameters
    ----------
    cells : [row] numbers or dates
    place : position of a cell with file and column
    line : position of a cell without file and column
    repeats : whether consecutive rows may have the same time

    Raises
    ------
    UserError
        for a cell that is not a time, and for time that decreases
    """
    if dates := _of_eight_digits(cells):
        result = np.array(dates)
        order = result.astype("datetime64[s]")
    elif all(map(is_number, cells)):
        result = order = _of_numbers(cells, place)
    else:
        _refuse_a_few_without_number(cells, place)
        order = np.array([_date(str(cell), place, row) for row, cell in enumerate(cells)])
        result = np.array([str(cell) for cell in cells])
    wrong = order[1:] < order[:-1] if repeats else order[1:] <= order[:-1]
    for row in 1 + np.flatnonzero(wrong)[:1]:
        if order[row] == order[row - 1]:
            text = f"is the time of {line(row - 1)} too; keep one row of a time"
        else:
            before = f"{cells[row - 1]!r:.80} of {line(row - 1)}"
            text = f"comes after {before}; sort the rows, the oldest first"
        raise UserError(f"{place(row)}: {cells[row]!r:.80} {text}")
    return result


def is_date(text: str) -> bool:
    """Return whether a text has the form of a date."""
    return DATE.fullmatch(text) is not None


def _of_eight_digits(cells: Sequence[Any]) -> list[str]:
    """Return dates of eight digits with dashes; empty if one of the cells is no such date."""
    found = [EIGHT_DIGITS.fullmatch(str(cell)) for cell in cells]
    dates = ["-".join(match.groups()) for match in found if match]
    try:
        np.array(dates, "datetime64[D]")
    except ValueError:  # such as the thirteenth month
        return []
    return dates if len(dates) == len(cells) else []


def _of_numbers(cells: Sequence[Any], place: Place) -> np.ndarray:
    """Return numbers, as int if all are whole. UserError for whole ones that lose digits."""
    numbers = np.array([float(cell) for cell in cells])
    are_whole = bool((numbers == numbers.round()).all())
    if (np.abs(numbers) < EXACT).all():
        return numbers.astype(int) if are_whole else numbers
    whole = [_whole(cell) for cell in cells]
    for row in map(int, np.flatnonzero(np.abs(numbers) >= EXACT)):
        number = whole[row]
        if are_whole and number is None:
            raise UserError(
                f"{place(row)}: {cells[row]!r:.80} is a whole number above 2^53 and may have"
                " been rounded; write it without a point and an exponent"
            )
        if not are_whole or number is None or abs(number) >= LARGEST:
            raise UserError(
                f"{place(row)}: {cells[row]!r:.80} is too large a time; count it from a later"
                " start or in larger units"
            )
    return np.array(whole, np.int64)


def _whole(cell: Any) -> int | None:
    """Return a whole number with all digits; None for a large float, or one written as 1e17."""
    number = float(cell)
    if abs(number) < EXACT:
        return int(number)
    try:
        return None if isinstance(cell, float) else int(cell)
    except ValueError:
        return None


def _refuse_a_few_without_number(cells: Sequence[Any], place: Place) -> None:
    """Raise UserError for the first cell without a number, if most others have one."""
    without = [row for row, cell in enumerate(cells) if not is_number(cell)]
    dates = sum(is_date(str(cell)) for cell in cells)
    digits = sum(EIGHT_DIGITS.fullmatch(str(cell)) is not None for cell in cells)
    if dates and digits and dates + digits == len(cells):
        raise UserError(
            f"{place(without[0])}: {str(cells[without[0]])!r:.80} is a date with dashes, and others"
            " have none; write all dates in one form"
        )
    if len(without) < len(cells) / 2 and dates < len(cells) / 2:
        raise UserError(
            f"{place(without[0])}: {str(cells[without[0]])!r:.80} is not a number, as most times"
            " in this file are; correct it"
        )


def _date(text: str, place: Place, row: int) -> np.datetime64:
    try:
        if is_date(text):
            return np.datetime64(text, "s")
    except ValueError:  # such as the thirteenth month
        pass
    raise UserError(
        f"{place(row)}: {text!r:.80} is not a time; write numbers, or dates as 2001,"
        " 2001-12, 2001-12-31 or 2001-12-31 23:59:59, all in one form"
    )

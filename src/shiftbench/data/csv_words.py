"""Error messages about CSV files of users, for readers of tables and of series."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

DELIMITERS = (",", ";", "\t")
_COMMA = re.compile(r"\s*[-+]?\d*,\d+\s*")
_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?\s*")


def one_column(names: Sequence[str], delimiter: str, below: str | None = None) -> str:
    """Say that the name of the only column has another delimiter in it; empty if it has none.

    below: the next row, which must have it too, if a single column could be right.
    """
    texts = [names[0]] if below is None else [names[0], below]
    others = (mark for mark in DELIMITERS if mark != delimiter)
    other = [mark for mark in others if all(mark in text for text in texts)]
    if len(names) > 1 or not other:
        return ""
    return f"there is one column, {names[0]!r}; set `delimiter: {json.dumps(other[0])}`"


def nameless(names: Sequence[str]) -> str:
    """Say which column has no name; empty if all have one."""
    return "" if all(names) else f"column {list(names).index('') + 1} has no name"


def not_a_number(cell: object) -> str:
    """Return the message for a cell that is not a number, in a column that has numbers."""
    return f"{cell!r:.80} is not a number. Write a number, or leave the column out of `columns`."


def with_comma(cell: object) -> bool:
    """Return whether a cell is a number with a comma, as a decimal one or between thousands."""
    return isinstance(cell, str) and _COMMA.fullmatch(cell) is not None


def with_thousands(cell: object) -> str:
    """Return the message for a number with thousands separators; empty for any other cell.

    A single comma may also be a decimal one, so it names both remedies.
    """
    if not (isinstance(cell, str) and _THOUSANDS.fullmatch(cell)):
        return ""
    text = cell.strip()
    whole = f"write {text.replace(',', ''):.80} without a thousands separator"
    either = f", or {text.replace(',', '.')} with a decimal point"
    return f"{cell!r:.80} is not a number; {whole}{either if _COMMA.fullmatch(text) else ''}"

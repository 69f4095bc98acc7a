"""The columns of a user's table and their roles: features, what is left out, and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from shiftbench.core.errors import UserError
from shiftbench.data import times
from shiftbench.data.tables import _user_table


def features(
    path: Path, delimiter: str, roles: Mapping[str, str], columns: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the columns that are features, and the columns of texts that are left out.

    roles: columns that are no features, by what they are for, empty for none. columns: the features
    that a user names. UserError for a column that is unknown or has two roles.
    """
    names = _user_table.header(path, delimiter)
    taken = [column for column in roles.values() if column]
    _user_table.refuse_unknown(path, [*taken, *columns], names)
    chosen = list(columns) or [name for name in names if name not in taken]
    used = [*taken, *chosen]
    for column in used:
        if used.count(column) > 1:
            users = [role for role, name in roles.items() if name == column]
            by = " and ".join(users + ["columns"] * chosen.count(column))
            raise UserError(f'{path}: column "{column}" is named by {by}; let one name it')
    candidates = [] if columns else chosen
    left_out = _user_table.without_numbers(path, candidates, delimiter)
    chosen = [name for name in chosen if name not in left_out]
    if not chosen:
        others = ", ".join([*taken, *left_out])
        raise UserError(f"{path}: it has no column of numbers beside {others} to learn from")
    return chosen, left_out


def note(left_out: Sequence[str], time: str) -> str:
    """Return a note on the columns that are left out, or an empty text."""
    if not left_out:
        return ""
    names = ", ".join(f'"{name}"' for name in left_out)
    if len(left_out) == 1:
        text = f"Column {names} has no numbers and is left out"
    else:
        text = f"Columns {names} have no numbers and are left out"
    return text if time else f"{text}; if one holds dates, set `time` to its name"


def labels(time: str, path: Path, table: _user_table.Rows) -> tuple[np.ndarray, str]:
    """Return the time, or else the number, of each row [row], and what it is.

    UserError if time decreases.
    """
    if not time:
        return 1 + np.arange(len(table.places)), "number of the row"
    found = times.labels(
        table.words[time],
        lambda row: _user_table.where(path, table.places[row], time),
        lambda row: _user_table.line(path, table.places[row]),
        repeats=True,
    )
    return found, time

"""A note on dates that are missing between the rows of a user's file.

Methods see rows, not dates: for them a row after a gap follows the one before like any other.
"""

from __future__ import annotations

import numpy as np

UNITS = {"Y": "year", "M": "month", "D": "day"}
"""Names of the units of dates without a time of day, as NumPy has them."""
SECONDS = {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
EQUAL = "; for the methods, rows are equally spaced"


def note(labels: np.ndarray, column: str) -> str:
    """Return a sentence on the dates [row] of a column, in order; empty without a gap, or dates.

    The step is the most common difference between one date and the next.
    """
    if labels.dtype.kind != "U":
        return ""
    dates = np.unique(labels.astype("datetime64"))
    unit, _ = np.datetime_data(dates.dtype)
    if unit not in UNITS:
        dates = dates.astype("datetime64[s]")
    steps = np.diff(dates).astype(int)
    if not steps.size or (steps == steps[0]).all():
        return ""
    sizes, counts = np.unique(steps, return_counts=True)
    step = int(sizes[counts.argmax()])
    if (steps % step).any():
        text = f"from {_in_words(int(sizes[0]), unit)} to {_in_words(int(sizes[-1]), unit)} apart"
        return f'Column "{column}" has dates that are {text}{EQUAL}'
    missing, all_dates = int((steps // step - 1).sum()), int(steps.sum()) // step + 1
    one = _in_words(step, unit)
    what = f"{one[2:]}s" if one.startswith("1 ") else f"steps of {one}"
    before = np.unique(labels)[(steps > step).argmax()]
    text = f"{missing:,} of {all_dates:,} {what} {'is' if missing == 1 else 'are'} missing"
    return f'In column "{column}" {text}, the first after {before}{EQUAL}'


def _in_words(step: int, unit: str) -> str:
    """Return a difference of dates in the largest unit that divides it, as in "7 days"."""
    sizes = {UNITS[unit]: 1} if unit in UNITS else SECONDS
    name, size = next((name, size) for name, size in sizes.items() if step % size == 0)
    number = step // size
    return f"{number:,} {name}{'s' * (number != 1)}"

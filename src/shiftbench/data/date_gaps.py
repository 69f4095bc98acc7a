"""A note on dates that are missing between the rows of a user's file.

Methods see rows, not dates, so they treat a row after a gap like any other row.
"""

from __future__ import annotations

import numpy as np

SECONDS = {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
EQUAL = "; this matters because methods treat rows as equally spaced"


def note(labels: np.ndarray, column: str) -> str:
    """Return a sentence on the dates [row] of a column, in order; empty without a gap, or dates.

    The step is the most common difference between one date and the next.
    """
    if labels.dtype.kind != "U":
        return ""
    dates, rows = np.unique(labels.astype("datetime64"), return_index=True)
    numbers, unit = _counted(dates)
    steps = np.diff(numbers)
    if not steps.size or (steps == steps[0]).all():
        return ""
    step = _most_common(steps)
    if (steps % step).any():
        least, most = (_in_words(int(size), unit) for size in (steps.min(), steps.max()))
        return f'Column "{column}" has dates that are {least} to {most} apart{EQUAL}'
    missing, all_dates = int((steps // step - 1).sum()), int(steps.sum()) // step + 1
    number, one = _largest_unit(step, unit)
    what = f"{one}s" if number == 1 else f"steps of {_in_words(step, unit)}"
    text = f"{missing:,} of {all_dates:,} {what} {'is' if missing == 1 else 'are'} missing"
    before = labels[rows[(steps > step).argmax()]]
    return f'In column "{column}" {text}, the first after {before}{EQUAL}'


def _counted(dates: np.ndarray) -> tuple[np.ndarray, str]:
    """Return different dates as whole numbers of a unit, and the unit.

    Months and years are counted as such, as their numbers of days differ; days from Monday to
    Friday without the weekends between them.
    """
    days, months = dates.astype("datetime64[D]"), dates.astype("datetime64[M]")
    if (days != dates).any():
        return dates.astype("datetime64[s]").astype(int), "second"
    last = (months + 1).astype("datetime64[D]") - 1
    if len({*(days - months).astype(int)}) == 1 or (days == last).all():
        if len({*(months.astype(int) % 12)}) == 1:
            return dates.astype("datetime64[Y]").astype(int), "year"
        return months.astype(int), "month"
    if np.is_busday(days).all() and _most_common(np.diff(days).astype(int)) == 1:
        return np.busday_count(days[0], days), "business day"
    return days.astype(int), "day"


def _most_common(steps: np.ndarray) -> int:
    sizes, counts = np.unique(steps, return_counts=True)
    return int(sizes[counts.argmax()])


def _in_words(step: int, unit: str) -> str:
    """Return a difference of dates in the largest unit that divides it, as in "7 days"."""
    number, name = _largest_unit(step, unit)
    return f"{number:,} {name}{'s' * (number != 1)}"


def _largest_unit(step: int, unit: str) -> tuple[int, str]:
    """Return a difference of dates as a number of the largest unit that divides it."""
    if unit != "second":
        return step, unit
    return next((step // size, name) for name, size in SECONDS.items() if step % size == 0)

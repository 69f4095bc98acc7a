"""Dates that are missing between the rows of a table are noted."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.data import date_gaps


def days(number: int, *missing: int) -> np.ndarray:
    """Return consecutive days from 2024-01-01 as texts, without some of them."""
    return np.delete(np.datetime64("2024-01-01") + np.arange(number), missing).astype(str)


def weekdays(number: int, *missing: int) -> np.ndarray:
    """Return consecutive days from Monday to Friday as texts, without some of them."""
    every = np.busday_offset("2024-01-01", np.arange(number))
    return np.delete(every, missing).astype(str)


def test_missing_days_are_counted_among_all_days_with_the_first_place():
    note = date_gaps.note(days(365, 40, 41, 200), "day")
    assert note.startswith('In column "day" 3 of 365 days are missing, the first after 2024-02-09;')
    assert note.endswith("because methods treat rows as equally spaced")
    assert "1 of 31 days is missing" in date_gaps.note(days(31, 9), "day")


@pytest.mark.parametrize(
    ("dates", "words"),
    [
        (days(60, *(n for n in range(60) if n % 7), 21), "1 of 9 steps of 7 days is missing"),
        (["2001-01", "2001-02", "2001-04", "2001-05"], "1 of 5 months is missing"),
        ([f"2001-01-01 {hour:02}:00" for hour in (0, 1, 2, 5)], "2 of 6 hours are missing"),
        ([f"2001-01-01 {hour:02}:00:30" for hour in (0, 2, 4, 8)], "1 of 5 steps of 2 hours is"),
        (["2001-01-01", "2001-01-03", "2001-01-05", "2001-01-10"], "are 2 days to 5 days apart"),
        (["2001-01-31", "2001-02-28", "2001-04-30", "2001-05-31"], "1 of 5 months is missing"),
        (["2000-02-29", "2001-02-28", "2002-02-28", "2004-02-29"], "1 of 5 years is missing"),
        (["2001-03-15", "2001-06-15", "2001-09-15", "2002-03-15"], "1 of 5 steps of 3 months is"),
        (weekdays(60, 7), "1 of 60 business days is missing, the first after 2024-01-09"),
        (["2024-01-05 00:00", "2024-01-06", "2024-01-07 00:00", "2024-01-09"], "of 5 days is"),
    ],
)
def test_the_step_is_the_most_common_one(dates, words):
    assert words in date_gaps.note(np.array(dates), "when")


@pytest.mark.parametrize(
    "labels",
    [
        days(30),
        np.repeat(days(30), 3),
        days(1),
        np.array(["2001-01", "2001-02", "2001-03"]),
        np.array(["2001-01-01", "2001-02-01", "2001-03-01", "2001-04-01"]),
        np.array(["2001-01-01 00:00", "2001-02-01 00:00", "2001-03-01 00:00"]),
        np.array(["2001-01-31", "2001-02-28", "2001-03-31", "2001-04-30"]),
        np.array(["2001-03-31", "2001-06-30", "2001-09-30", "2001-12-31"]),
        np.array(["1999-07-01", "2000-07-01", "2001-07-01"]),
        np.array(["2000-02-29", "2001-02-28", "2002-02-28"]),
        weekdays(60),
        np.array([1, 2, 9]),
    ],
)
def test_equal_steps_repeated_dates_and_numbers_are_not_noted(labels):
    assert date_gaps.note(labels, "when") == ""

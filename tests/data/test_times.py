"""Labels of time: numbers, dates, and dates of eight digits."""

from __future__ import annotations

import pytest

from shiftbench.core.errors import UserError
from shiftbench.data import date_gaps, times


def labels(cells, repeats: bool = False) -> list:
    found = times.labels(cells, lambda row: f"cell {row}", lambda row: f"row {row}", repeats)
    return found.tolist()


@pytest.mark.parametrize("cells", [("20200131", "20200201"), (20200131, 20200201)])
def test_dates_of_eight_digits_get_dashes(cells) -> None:
    assert labels(cells) == ["2020-01-31", "2020-02-01"]


def test_the_first_and_the_last_year_and_the_leap_day() -> None:
    cells = ["10000101", "20000229", "29991231"]
    assert labels(cells) == ["1000-01-01", "2000-02-29", "2999-12-31"]


@pytest.mark.parametrize(
    "cells",
    [
        ("20200131", "20200230"),  # no day
        ("20210228", "20210229"),  # no leap year
        ("20201231", "20201301"),  # no month
        ("20200101", "202001011"),  # nine digits
        ("09991231", "10000101"),  # another year
        ("29991231", "30000101"),
        ("20200131", "20200132.0"),
        (20200131.0, 20200201.0),
        ("12345678", "87654321"),
    ],
)
def test_other_numbers_of_eight_digits_stay_numbers(cells) -> None:
    assert labels(cells) == [float(cell) for cell in cells]


def test_they_are_not_mixed_with_other_forms() -> None:
    with pytest.raises(UserError, match="cell 1: '2020-02-01' is a date with dashes, and others"):
        labels(["20200131", "2020-02-01"])
    with pytest.raises(UserError, match="cell 0: '20200131' is not a time; write numbers, or"):
        labels(["20200131", "2020-02-01", "x"])


def test_their_order_is_checked_and_errors_quote_the_file() -> None:
    with pytest.raises(UserError, match="cell 1: '20200131' comes after '20200201' of row 0"):
        labels(["20200201", "20200131"])
    with pytest.raises(UserError, match="cell 1: '20200201' is the time of row 0 too"):
        labels(["20200201", "20200201"])
    assert labels(["20200201", "20200201"], repeats=True) == ["2020-02-01", "2020-02-01"]


@pytest.mark.parametrize(
    "cells", [["9007199254740992", "9007199254740993"], [2**53, 2**53 + 1], ["-7", str(10**18 + 1)]]
)
def test_large_whole_numbers_keep_their_digits(cells) -> None:
    assert labels(cells) == [int(cell) for cell in cells]


@pytest.mark.parametrize("cell", [str(10**25), 2**63])
def test_times_beyond_64_bits_are_refused(cell) -> None:
    with pytest.raises(UserError, match=r"cell 1: .* is too large a time; count it from"):
        labels(["0", cell])


@pytest.mark.parametrize("cell", ["1e20", 1e20, "9007199254740993.0"])
def test_whole_numbers_that_would_lose_digits_are_refused(cell) -> None:
    with pytest.raises(UserError, match=r"cell 1: .* 2\^53 .*; write it without a point"):
        labels(["0", cell])


def test_large_times_beside_fractions_are_refused() -> None:
    with pytest.raises(UserError, match=r"cell 1: '9007199254740992' is too large a time"):
        labels(["0.5", "9007199254740992", "9007199254740993"])


@pytest.mark.parametrize(("wrong", "shown"), [("", "''"), ("x", "'x'"), (None, "'None'")])
def test_the_cell_without_a_number_is_named_not_the_first_cell(wrong, shown) -> None:
    with pytest.raises(UserError, match=f"cell 2: {shown} is not a number, as most times"):
        labels(["0", "1", wrong, "3"])


def test_missing_days_between_them_are_noted() -> None:
    cells = ["20200101", "20200102", "20200104", "20200105"]
    found = times.labels(cells, str, str)
    assert date_gaps.note(found, "day").startswith('In column "day" 1 of 5 days is missing')

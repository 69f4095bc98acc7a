"""Columns of files of series: which are read, and what is said of those that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftbench.core.errors import UserError
from shiftbench.data.series import series_file
from shiftbench.data.series.series_file import Settings


def build(path: Path, text: str, **settings):
    path.write_text(text, encoding="utf-8")
    return series_file.build(Settings(path=str(path), **{"scaling": "none"} | settings), path)


def told(path: Path, text: str, **settings) -> str:
    """Return the message of building and of `check`, which must be the same, without the path."""
    with pytest.raises(UserError) as error:
        build(path, text, **settings)
    with pytest.raises(UserError) as looked:
        series_file.look(Settings(path=str(path), **{"scaling": "none"} | settings), path)
    assert str(looked.value) == str(error.value)
    return str(error.value).replace(str(path), "FILE")


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    return tmp_path / "s.csv"


DATED = "date,v\n2020-01-01,{}\n2020-01-02,{}\n2020-01-03,{}\n"


@pytest.mark.parametrize(
    ("cells", "line", "reason"),
    [
        (("x", "1", "2"), 2, "'x' is not a number. Write a number, or leave the"),
        (("1", "x", "2"), 3, "'x' is not a number. Write a number, or leave the"),
        (("1", "2", "5%"), 4, "'5%' is not a number. Write a number, or leave the"),
        (("inf", "1", "2"), 2, "'inf' is not a finite number; correct it"),
        (("", "x", "2"), 2, "a gap; fill it in, or set `gaps: interpolate`"),
        (("1", '"1,5"', "2"), 3, "'1,5' is not a number; write a decimal point"),
        (('"1,5"', '"2,5"', '"-,5"'), 2, "'1,5' is not a number; write a decimal point"),
        (('"1,5"', "x", "2"), 2, "'1,5' is not a number; write a decimal point"),
        (
            ("1", '"1,012"', "2"),
            3,
            "'1,012' is not a number; write 1012 without a thousands separator, or 1.012 with a"
            " decimal point",
        ),
        (
            ("1", '"1,012,345.5"', "2"),
            3,
            "'1,012,345.5' is not a number; write 1012345.5 without a thousands separator",
        ),
    ],
)
def test_a_column_with_some_numbers_is_refused_at_its_first_other_cell(csv, cells, line, reason):
    text = "date,v,w\n" + "".join(f"2020-01-0{day},{day},{cells[day - 1]}\n" for day in (1, 2, 3))
    for time in ("", "date"):
        assert told(csv, text, time=time).startswith(f'FILE, line {line}, column "w": {reason}')
    store = build(csv, text, time="date", columns=("v",))
    assert store["series"].values.tolist() == ["v"], "the remedy helps"


def test_a_column_of_texts_and_gaps_is_left_out_and_gaps_before_numbers_are_filled(csv):
    text = "a,what,b\n1,,NA\n2,x,5\n4,?,6\n"
    store = build(csv, text, gaps="interpolate")
    assert store["series"].values.tolist() == ["a", "b"]
    assert store["value"].values[0].tolist() == [[1, 5], [2, 5], [4, 6]]
    assert told(csv, text) == (
        'FILE, line 2, column "b": a gap; fill it in, or set `gaps: interpolate`'
    )


@pytest.mark.parametrize("scaling", ["z-score", "z-score-jointly"])
def test_a_constant_series_is_refused_by_check_too_with_its_column(csv, scaling):
    reason = "it is constant, so it has no z-score; set `scaling: none`"
    for value in ("3", "0.1"):  # whose standard deviation is 1e-17
        text = DATED.format(value, value, value)
        assert told(csv, text, time="date", scaling=scaling) == f'FILE, column "v": {reason}'
    build(csv, DATED.format(3, 3, 3), time="date")
    two = "v,w\n1,7\n2,7\n3,7\n"
    reason = f"{reason}, or leave the column out"
    assert told(csv, two, scaling="z-score") == f'FILE, column "w": {reason}'
    build(csv, two, scaling="z-score-jointly")


@pytest.mark.parametrize(("mark", "written"), [(";", '";"'), ("\t", '"\\t"')])
@pytest.mark.parametrize("number", ["1.288", "1,288"])
@pytest.mark.parametrize("time", ["", "date"])
def test_another_delimiter_is_named(csv, mark, written, number, time):
    text = DATED.replace(",", mark).format(number, "2", "3")
    message = f"FILE, line 1: there is one column, {f'date{mark}v'!r}; set `delimiter: {written}`"
    assert told(csv, text, time=time) == message


def test_a_single_column_may_have_a_delimiter_in_its_name(csv):
    for name in ('"flow, in m3"', "flow; in m3"):
        assert build(csv, f"{name}\n1\n2\n4\n")["series"].values.tolist() == [name.strip('"')]
    store = build(csv, '"a, b"\n1\n2\n4\n', delimiter=";")
    assert store["series"].values.tolist() == ["a, b"]


@pytest.mark.parametrize("cell", ["1,000.5", "5%", "True", "1_000", "0x12"])
def test_where_no_column_has_numbers_the_first_cell_is_quoted(csv, cell):
    written = f'"{cell}"'
    text = DATED.format(written, written, written)
    reason = f"{cell!r} is not a number; write numbers such as 1000.5"
    for time in ("", "date"):
        assert told(csv, text, time=time) == f'FILE, line 2, column "v": {reason}'


def test_a_first_cell_that_is_no_number_may_come_after_gaps_and_without_dates(csv):
    text = "when,v\n1/2/20,\n1/3/20,5%\n1/4/20,6%\n"
    assert told(csv, text, time="when").startswith(
        "FILE, line 3, column \"v\": '5%' is not a number"
    )
    assert told(csv, text).startswith("FILE, line 2, column \"when\": '1/2/20' is not a number")


def test_a_file_with_time_alone_has_no_column_of_numbers(csv):
    text = "date\n2020-01-01\n2020-01-02\n2020-01-03\n"
    assert told(csv, text, time="date") == 'FILE: there is no column beside "date"; add numbers'


@pytest.mark.parametrize("time", ["", "date"])
def test_names_without_rows_are_no_series(csv, time):
    for text in ("date,v\n", "date;v\n", "date,v"):
        assert told(csv, text, time=time) == "FILE has no row; a series has one row for each value"
    assert told(csv, "") == "FILE has no row; a series has one row for each value"


@pytest.mark.parametrize("time", ["", "date"])
def test_a_column_without_a_name_is_told_by_its_number(csv, time):
    text = DATED.format(1, 2, 3).replace("\n", ",\n")
    assert told(csv, text, time=time) == "FILE, line 1: column 3 has no name"
    store = build(csv, "1,\n2,\n3,\n", columns=("1",))
    assert store["series"].values.tolist() == ["1"], "without a line of names"


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (
            '["x", "y", "z"]',
            "FILE, value 1, column \"a\": 'x' is not a number; write numbers such as",
        ),
        (
            "[true, false, true]",
            'FILE, value 1, column "a": True is not a number; write numbers such',
        ),
        ("[null, [2], 3]", 'FILE, value 1, column "a": a gap'),
        ("[1, [2], 3]", 'FILE, value 2, column "a": [2] is not a number. Write a number, or leave'),
        (
            '["1,5", "2,5", 3]',
            "FILE, value 1, column \"a\": '1,5' is not a number; write a decimal",
        ),
        ("[1, NaN, 3]", 'FILE, value 2, column "a": nan is not a finite number'),
        ("[]", "FILE: 0 values; a series has at least 3"),
    ],
)
def test_a_value_of_a_json_that_is_no_number_is_told_without_a_delimiter(tmp_path, raw, message):
    found = told(tmp_path / "s.json", f'{{"series": [{{"label": "a", "raw": {raw}}}]}}')
    assert found.startswith(message) and "delimiter" not in found


def test_dates_of_eight_digits_are_dates(csv):
    store = build(csv, "day,v\n20200131,1\n20200201,2\n20200203,4\n", time="day")
    assert store["time"].values.tolist() == ["2020-01-31", "2020-02-01", "2020-02-03"]
    assert store["series"].values.tolist() == ["v"]

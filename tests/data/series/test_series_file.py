"""Series from files: reading, and errors with file, line and column."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pytest

from shiftbench.config import components
from shiftbench.core.errors import UserError
from shiftbench.data.series import _tcpd, _tcpd_from_river, _well_log, series_file
from shiftbench.data.series.series_file import Settings
from shiftbench.data.store import raw
from shiftbench.evaluation.scoring import segmentation
from tests.real_files import MIRROR, needs_mirror

NAMES = [one for one in get_args(get_type_hints(Settings)["dataset"]) if one]
DATASETS = [one for one in NAMES if one.startswith(_tcpd.PREFIX)]
SALES = "week,shop,sales,price\n2024-01-01,north,5,1.5\n2024-01-08,north,7,2\n2024-01-15,x,-3,1e1\n"


def build(path: Path, text: str, **settings):
    path.write_text(text, encoding="utf-8")
    return series_file.build(Settings(path=str(path), **{"scaling": "none"} | settings), path)


@pytest.fixture
def csv(tmp_path) -> Path:
    return tmp_path / "sales.csv"


def test_columns_of_numbers_are_the_series(csv):
    store = build(csv, SALES, time="week", licence="CC0", citation="us", title="Sales")
    assert store["series"].values.tolist() == ["sales", "price"]
    np.testing.assert_array_equal(store["value"].values[0], [[5, 1.5], [7, 2], [-3, 10]])
    assert store["time"].values.tolist() == ["2024-01-01", "2024-01-08", "2024-01-15"]
    assert store["time"].attrs["long_name"] == "week"
    assert [store.attrs[key] for key in ("title", "licence", "citation")] == ["Sales", "CC0", "us"]
    assert store.attrs["truth"] == "unknown"


def test_columns_are_taken_in_the_order_in_which_they_are_asked_for(csv):
    store = build(csv, SALES, columns=("price", "sales"))
    np.testing.assert_array_equal(store["value"].values[0, 0], [1.5, 5])
    assert store["time"].values.tolist() == [1, 2, 3]
    assert store.attrs["title"] == "sales.csv" and store.attrs["licence"] == "not stated"


def test_a_file_without_a_line_of_names_has_numbered_columns(csv):
    store = build(csv, "1990;3\n1991;4\n1992;6\n", time="1", delimiter=";")
    assert store["series"].values.tolist() == ["2"]
    assert store["time"].values.tolist() == [1990, 1991, 1992]


def test_byte_order_mark_quotes_and_ends_of_line_of_other_programs(csv):
    store = build(csv, '\ufeff"a, b",c\r\n1,2\r\n3,4\r\n5,6\r\n\r\n')
    assert store["series"].values.tolist() == ["a, b", "c"]
    np.testing.assert_array_equal(store["value"].values[0, :, 1], [2, 4, 6])


@pytest.mark.parametrize("regressors", ["constant", "own-lag", "own-level-and-lag"])
def test_tasks_are_the_rows_in_their_order(csv, regressors):
    store = build(csv, "a\n1\n2\n4\n8\n16\n", regressors=regressors)
    targets = [
        series_file.task(store, [0], t).train.targets.item() for t in range(store.sizes["task"])
    ]
    assert targets == [1, 2, 4, 8, 16][regressors != "constant" :]
    inputs = series_file.task(store, [0], 1).train.inputs[0, 0, 0, 0]
    assert inputs.tolist() == ([1] if regressors == "constant" else [1, 2])


def test_z_scores_by_column(csv):
    value = build(csv, "a,b\n1,10\n2,40\n3,10\n", scaling="z-score")["value"].values[0]
    np.testing.assert_allclose(value.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(value.std(axis=0), 1)


def test_gaps_are_filled_where_that_is_asked_for(csv):
    store = build(csv, "a\nNA\n2\nnan\n?\n8\n", gaps="interpolate")
    assert store["value"].values[0, :, 0].tolist() == [2, 2, 4, 6, 8]
    assert store.attrs["look_ahead"] == "neighbours of gaps"


def test_annotations_are_marks_of_several_people_and_agreement_is_of_most(csv):
    marks = {"ann": (3, 7), "bob": (4,), "eve": (9,)}
    store = build(csv, "a\n" + "1\n" * 10, annotations=marks)
    assert store["annotator"].values.tolist() == ["ann", "bob", "eve"]
    marked = [np.flatnonzero(one).tolist() for one in store["annotation"].values]
    assert marked == [[3, 7], [4], [9]]
    assert np.flatnonzero(store["shift"].values[0]).tolist() == [3]
    assert store.attrs["truth"] == "annotated"


def test_annotations_from_a_file_alone_or_by_name_of_the_series(tmp_path):
    data = {"name": "flow", "series": [{"label": "a", "raw": [1, 2, 3, 4.5]}]}
    for marks in ({"ann": [2]}, {"flow": {"ann": [2]}, "other": {"ann": [3]}}):
        (tmp_path / "marks.json").write_text(json.dumps(marks))
        file = str(tmp_path / "marks.json")
        store = build(tmp_path / "x.json", json.dumps(data), annotations=file)
        assert np.flatnonzero(store["annotation"].values[0]).tolist() == [2]


@pytest.mark.parametrize(
    ("text", "settings", "words"),
    [
        ("a,b\n1,2\n3,\n5,6\n", {}, ['line 3, column "b"', "a gap", "gaps: interpolate"]),
        ("a,b\n1,2\n3,1O\n5,6\n", {}, ['line 3, column "b"', "'1O' is not a number"]),
        ("a\n1\ninf\n2\n", {}, ['line 3, column "a"', "not a finite number"]),
        ("a\n1\n1_000\n2\n", {}, ['line 3, column "a"']),
        (SALES, {"columns": ("sales", "sales")}, ['`columns` has "sales" twice']),
        ("a\n1\n2\n1e200\n", {}, ['line 4, column "a"', "1e+200 is beyond 1e+100"]),
        (SALES, {"columns": ("sale",)}, ['unknown column "sale"; did you mean "sales"?']),
        (SALES, {"time": "weak"}, ["line 1", 'did you mean "week"?']),
        (SALES, {"columns": ("shop",)}, ["line 2, column \"shop\": 'north' is not a number"]),
        (SALES, {"delimiter": ";"}, ["line 1: there is one column", 'set `delimiter: ","`']),
        ("a\n1\n2\n", {}, ["2 values; a series has at least 3"]),
        ("", {}, ["no row"]),
        ("a,b\n1,2\n3\n", {}, ["line 3: 1 cells, but the first line has 2"]),
        ("a,a\n1,2\n3,4\n5,6\n", {}, ['two columns are called "a"']),
        ("a\n1\n\n2\n3\n", {}, ["line 3: an empty line"]),
        ('a\n"1\n2\n3\n', {}, ["line 4: this is not CSV"]),
        ("t,a\n1,5\n1,6\n2,7\n", {"time": "t"}, ['line 3, column "t"', "line 2 too"]),
        ("t,a\n1,5\n3,6\n2,7\n", {"time": "t"}, ['line 4, column "t"', "sort the rows"]),
        (
            "t,a\n2020-02,5\n2020-13,6\n2021,7\n",
            {"time": "t"},
            ["line 3", "'2020-13' is not a time"],
        ),
        ("t,a\n31/12/2020,5\n1/1/21,6\n2/1/21,7\n", {"time": "t"}, ["line 2", "2001-12-31"]),
        ("t,a\nnow,5\ntoday,6\n2021,7\n", {"time": "t"}, ["'now' is not a time"]),
        (
            "a\n1\n1\n1\n",
            {"scaling": "z-score"},
            ['column "a": it is constant', "set `scaling: none`"],
        ),
        ("a\n?\n?\n?\n", {"gaps": "interpolate"}, ['column "a" has only gaps']),
        ("a\n1\n2\n3\n", {"annotations": {"x": (3,)}}, ["annotator x has position 3", "1 to 2"]),
        ("a\n1\n2\n3\n", {"annotations": {"x": (0,)}}, ["annotator x has position 0"]),
    ],
)
def test_each_mistake_of_a_csv_is_reported_with_its_place(csv, text, settings, words):
    with pytest.raises(UserError) as error:
        build(csv, text, **settings)
    assert all(word in str(error.value) for word in words)
    assert "sales.csv" in str(error.value) or "annotations" in settings


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "line 1, column 2: this is not valid JSON"),
        ("[1, 2]", "no series; the form is"),
        ('{"series": [{"values": [1]}]}', "no series; the form is"),
        ('{"series": [{"label": "a", "raw": [1, null, 3]}]}', 'value 2, column "a": a gap'),
        ('{"series": [{"label": "a", "raw": [1, [2], 3]}]}', "[2] is not a number"),
        ('{"series": [{"raw": [1, 2, 3]}, {"raw": [1, 2]}]}', '"2" has not 3 values'),
        ('{"time": {"raw": [1]}, "series": [{"raw": [1, 2, 3]}]}', '"time" has not 3 values'),
        ("[" * 100_000, "too many brackets"),
    ],
)
def test_each_mistake_of_a_json_is_reported_with_its_place(tmp_path, text, words):
    with pytest.raises(UserError) as error:
        build(tmp_path / "x.json", text)
    assert "x.json" in str(error.value) and words in str(error.value)


@pytest.mark.parametrize(
    ("marks", "words"),
    [
        ([3], "annotations are"),
        ({"ann": [1.5]}, "annotations are"),
        ({"ann": [True]}, "annotations are"),
        ({}, "there is no annotator"),
        ({"flaw": {"ann": [1]}}, 'unknown series "sales"'),
        ({"ann": [3]}, "marks.json: annotator ann has position 3"),
    ],
)
def test_each_mistake_of_annotations_is_reported(csv, tmp_path, marks, words):
    (tmp_path / "marks.json").write_text(json.dumps(marks))
    with pytest.raises(UserError, match=r"marks\.json") as error:
        build(csv, "a\n1\n2\n3\n", annotations=str(tmp_path / "marks.json"))
    assert words in str(error.value)


def test_another_encoding_is_reported_with_its_line(csv):
    csv.write_bytes("a,b\n1,2\n3,é\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"sales.csv, line 3: this is not UTF-8"):
        series_file.build(Settings(path=str(csv)), csv)


def test_the_data_sets_are_in_the_table_of_raw_data_with_the_marks_of_five():
    assert len(DATASETS) == 35
    assert set(DATASETS) == {one for one in raw.table() if one.startswith("tcpd-")}
    for name in DATASETS:
        assert list(raw.table()[name].files) == [_tcpd.file_name(name)]
        assert len(_tcpd.positions(name)) == 5


def test_marks_of_the_well_log_are_those_that_its_own_reader_has():
    marks = {name: tuple(points) for name, points in _tcpd.positions("tcpd-well-log").items()}
    assert marks == _well_log.ANNOTATIONS
    agreed = series_file._agreed(marks)
    assert np.abs(np.subtract(agreed, _well_log.AGREED)).max() <= 1


def test_missing_dates_are_noted(tmp_path):
    path = tmp_path / "gap.csv"
    path.write_text("day,v\n2001-01-01,1\n2001-01-02,2\n2001-01-04,3\n2001-01-05,1\n")
    (note,) = series_file.look(Settings(path=str(path), time="day"), path)
    assert note.startswith('In column "day" 1 of 5 business days is missing, the first after 2001-')
    path.write_text(path.read_text().replace("2001-01-04", "2001-01-03").replace("-05", "-04"))
    assert series_file.look(Settings(path=str(path), time="day"), path) == []


@pytest.mark.parametrize("name", DATASETS)
def test_a_mark_counts_for_one_agreed_change(name):
    agreed = series_file._agreed(_tcpd.positions(name))
    assert (np.diff(agreed) > 2 * series_file.NEAR).all()


def test_marks_around_one_change_agree_on_one():
    marks = {str(one): (point,) for one, point in enumerate((178, 180, 179, 178, 179))}
    assert series_file._agreed(marks) == [178]


@needs_mirror
def test_marks_are_those_of_the_dataset():
    official = json.loads((MIRROR / "tcpd" / "annotations.json").read_text())
    for name in DATASETS:
        assert _tcpd.positions(name) == official[Path(_tcpd.file_name(name)).stem]


def from_package(name: str, folder: Path) -> None:
    """Put the files of a data set into a folder; skip the test if the package is missing."""
    if reason := raw.absent(name):
        pytest.skip(reason)
    for file in raw.table()[name].files:
        raw.fetch(name, file, folder / file)


MD5 = {
    "tcpd-apple": "22edb48471bd3711f7a6e15de6413643",
    "tcpd-bitcoin": "f90ff14ed1fc0c3d47d4394d25cbce93",
    "tcpd-occupancy": "bc6cd9adaf496fe30bf0e417d2c3b0c6",
}
"""Checksums that the benchmark publishes of files it may not redistribute (checksums.json)."""


@pytest.mark.peers
@pytest.mark.parametrize("name", MD5)
def test_files_rebuilt_from_a_package_are_those_of_the_dataset(name, tmp_path):
    from_package(name, tmp_path)
    content = (tmp_path / _tcpd.file_name(name)).read_bytes()
    assert hashlib.md5(content).hexdigest() == MD5[name]
    store = series_file.build(Settings(dataset=name), tmp_path)
    assert store["annotation"].sizes["annotator"] == 5 and store.attrs["truth"] == "annotated"


ROWS = {
    "apple.json": (b"Date,Close,Volume\n2000-06-20,1,9\n2000-06-20,3.616070,21\n", [3.616071]),
    "bitcoin.json": (b"date,price\n2019-06-19,9081.5\n2019-06-22,10708.2\n", [9081.5]),
    "occupancy.json": (b"time,V1,V2,V3,V4\n2015-02-04 17:51:00,23,2,4.0,7.25\n", [23.0]),
}
"""A small file in river's format, and the first series in it; 101.25 / 28 is 3.616071."""


@pytest.mark.parametrize("file", ROWS)
def test_rows_that_people_saw_are_kept_and_prices_are_those_of_the_day(file):
    content, first = ROWS[file]
    rebuilt = json.loads(_tcpd_from_river.rebuilt(file, content))
    assert rebuilt["series"][0]["raw"] == first
    assert (rebuilt["n_obs"], rebuilt["n_dim"]) == (1, len(rebuilt["series"]))
    assert list(rebuilt) == ["name", "longname", "n_obs", "n_dim", "time", "series"]


@pytest.mark.peers
@pytest.mark.parametrize(
    ("name", "values", "changes"),
    [
        ("aeon-electric-devices", 11_532, [1090, 4436, 5712, 7923]),
        ("aeon-gun-point", 1_875, [900]),
    ],
)
def test_joined_series_have_known_changes(name, values, changes, tmp_path):
    from_package(name, tmp_path)
    store = series_file.build(Settings(dataset=name), tmp_path)
    assert store.sizes["time"] == values and store.attrs["truth"] == "known"
    assert np.flatnonzero(store["shift"].values[0]).tolist() == changes


def test_a_joined_series_is_read_by_number_and_value(tmp_path):
    rows = [f"{row},{row % 7}" for row in range(1, 1000)]
    (tmp_path / "GunPoint.csv").write_text("\n".join(rows) + "\n")
    store = series_file.build(Settings(dataset="aeon-gun-point", scaling="none"), tmp_path)
    assert store["value"].values[0, :3, 0].tolist() == [1, 2, 3]
    assert np.flatnonzero(store["shift"].values[0]).tolist() == [900]


ZERO = {
    "tcpd-bank": (1.0, 1.0),
    "tcpd-nile": (0.75808, 0.8235294117647058),
    "tcpd-run-log": (0.3035168628338615, 0.4455958549222798),
    "tcpd-uk-coal-employ": (0.35648072562358274, 0.5132743362831859),
    "tcpd-well-log": (0.22457547325102878, 0.23702252693437809),
}
"""Cover and F1 without changepoints, as the benchmark publishes them."""


@needs_mirror
@pytest.mark.parametrize("name", ZERO)
def test_no_changepoint_has_the_published_scores(name):
    folder = MIRROR / "tcpd" / "datasets"
    store = series_file.build(Settings(dataset=name, gaps="interpolate"), folder)
    true = store["annotation"].values
    none = np.zeros(true.shape[1], bool)
    result = segmentation.cover(none, true), segmentation.f1(none, true, 5)
    assert result == pytest.approx(ZERO[name], rel=1e-12)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "there is no file"),
        ({"path": "a.csv", "dataset": "tcpd-nile"}, "two files"),
        ({"dataset": "tcpd-nile", "annotations": {"x": [3]}}, "annotations of its own"),
    ],
)
def test_settings_that_exclude_each_other(settings, words):
    filled = components.check("streams", "series-file", settings)
    (reason,) = components.unsupported("streams", "series-file", filled)
    assert words in reason

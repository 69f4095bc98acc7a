"""Streams from Python: the workflow's bytes, tables in memory, and clear errors."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

import shiftbench as sb
from shiftbench.config import stream_jobs
from shiftbench.core.errors import UserError
from shiftbench.runtime import cached_jobs
from tests import job_calls

CONFIG = """\
streams:
  market: {family: table-file, path: market.csv, target: price, time: hour, title: market}
studies:
  mine:
    title: Prices
    streams: [market]
    seeds: 1
    metrics: [squared_error]
    methods: [vcl-linear]
"""
PRICES = pd.DataFrame(
    {
        "hour": pd.date_range("2001-12-31", periods=4, freq="6h"),
        "load": [5.0, 7.25, 6.0, 1 / 3],
        "price": [2, 3, 5, 4],
        "remark": ["none", "two\nlines", "", "a, b"],
    }
)


def test_a_stream_is_built_once(called):
    first, again = (sb.stream("toy-step", points=6, name="steps") for _ in range(2))
    assert called == ["stream steps"]
    assert first.store.identical(again.store)
    assert first.problem.n_tasks == len(list(first.tasks())) == 6


def test_the_tasks_are_those_of_the_realisation(called):
    steps = sb.stream("toy-step", points=6)
    values = [task.train.targets.item() for task in steps.tasks(realisation=3)]
    assert values == steps.store["value"].values[3].tolist()
    with pytest.raises(UserError, match="realisation 100: toy-step has 100, counted from 0"):
        next(steps.tasks(100))


def test_it_shows_what_it_is(called):
    shown = repr(sb.stream_from(PRICES, target="price", time="hour", name="market"))
    assert shown.startswith('<stream "market": market\n  4 tasks of up to 1 rows')
    assert "regression: inputs 1, outputs 1" in shown
    assert 'Column "remark" has no numbers and is left out' in shown


def test_a_table_in_memory_has_the_bytes_of_the_workflow(called, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    market = sb.stream_from(PRICES, target="price", time="hour", name="market")
    (ours,) = cached_jobs.cache_folder().glob("jobs/*/market.zarr.zip")
    table = PRICES.assign(remark=["none", "two lines", "", "a, b"])
    table.to_csv("market.csv", index=False)
    (tmp_path / "mine.yaml").write_text(CONFIG)
    job_calls.make(tmp_path / "mine.yaml", tmp_path / "results", "build_stream")
    assert (tmp_path / "results/streams/market.zarr.zip").read_bytes() == ours.read_bytes()
    assert market.store["time"].values.tolist()[:2] == [
        "2001-12-31 00:00:00",
        "2001-12-31 06:00:00",
    ]


def test_columns_without_a_target_are_a_series(called):
    level = pd.Series([1.0, 4.0, 2.0], index=pd.Index([1871, 1872, 1873], name="year"), name="flow")
    stream = sb.stream_from(level, time="year", scaling="none")
    assert stream.store["value"].values.tolist() == [[[1.0], [4.0], [2.0]]]
    assert stream.store["time"].values.tolist() == [1871, 1872, 1873]


WRONG_TABLES = {
    'the frame: unknown column "prce"; did you mean "price"?': {"target": "prce"},
    'the frame, row d, column "load": the value is missing; fill it in': {
        "load": [5.0, 7.0, 6.0, None]
    },
    "the frame, row c, column \"hour\": '2' comes after '3' of row b; sort the rows": {
        "hour": [1, 3, 2, 4]
    },
}


@pytest.mark.parametrize("message", WRONG_TABLES)
def test_errors_name_row_and_column(called, message):
    wrong = dict(WRONG_TABLES[message])
    target = wrong.pop("target", "price")
    table = PRICES.assign(**wrong).set_axis(list("abcd"))
    with pytest.raises(UserError) as error:
        sb.stream_from(table, target=target, time="hour")
    assert str(error.value).startswith(message)


WRONG_STREAMS = {
    'family: unknown family "toy-stp"; did you mean "toy-step"?': ("toy-stp", {}),
    'point: unknown setting of toy-step "point"': ("toy-step", {"point": 3}),
    "path: there is no": ("table-file", {"path": "nowhere.csv", "target": "x"}),
    "path: it is empty; name a file": ("table-file", {"path": "", "target": "x"}),
    "there is no file: write `path`": ("series-file", {"path": ""}),
    "settings: keys must be str": ("toy-step", {"points": {(1, 2): 3}}),
    'name: the name "A b" may have small letters': ("toy-step", {"name": "A b"}),
    "are the same in all realisations": (
        "table-file",
        {"path": __file__, "target": "x", "realisations": 2},
    ),
    'It is a data set: stream("series", dataset="nile")': ("nile", {}),
}


@pytest.mark.parametrize("message", WRONG_STREAMS)
def test_errors_of_settings_say_what_is_wrong(called, message):
    family, settings = WRONG_STREAMS[message]
    with pytest.raises(UserError) as error:
        sb.stream(family, **settings)
    assert message in str(error.value)
    assert not called


def test_other_objects_are_refused():
    with pytest.raises(UserError, match="frame is a list; give a pandas DataFrame or Series"):
        sb.stream_from([1.0, 2.0])


@pytest.mark.parametrize(
    ("hours", "labels"),
    [
        (pd.date_range("2001-12-31", periods=4, freq="6h", tz="Asia/Tokyo"), "2001-12-30 15:00:00"),
        (pd.period_range("2001Q4", periods=4, freq="Q"), "2001-10-01"),
        (pd.period_range("2001-11", periods=4, freq="M"), "2001-11"),
    ],
    ids=["zone", "quarters", "months"],
)
def test_times_of_any_type_become_those_of_a_file(called, hours, labels):
    for frame in (PRICES.assign(hour=hours), PRICES.set_index(hours.rename("hour"))[["price"]]):
        stream = sb.stream_from(frame.drop(columns="remark", errors="ignore"), time="hour")
        assert stream.store["time"].values[0] == labels


def test_parts_of_a_second_are_refused(called):
    hours = pd.date_range("2001-12-31", periods=4, freq="250ms")
    with pytest.raises(UserError, match='column "hour": times with parts of a second; round them'):
        sb.stream_from(PRICES.assign(hour=hours), target="price", time="hour")


def test_a_missing_time_is_named_with_its_row(called):
    hours = PRICES["hour"].where(PRICES.index != 1)
    with pytest.raises(UserError, match='row 1, column "hour": the value is missing'):
        sb.stream_from(PRICES.assign(hour=hours), target="price", time="hour")


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        (["a", "NA", "b", "NA"], "the class 'NA' would be read as a missing value; rename it"),
        (["a", " a", "b", "b"], "the class ' a' would become 'a'; rename it"),
        (["a b", "a\nb", "c", "c"], "the class 'a\\nb' would become 'a b'; rename it"),
        ([1, "1", 2, 2], "the class '1' would become the number 1; rename it"),
    ],
)
def test_classes_that_would_be_others_in_a_file_are_refused(called, labels, problem):
    for values in (labels, pd.Categorical(labels)):
        frame = PRICES.assign(kind=values)
        with pytest.raises(UserError) as error:
            sb.stream_from(frame, target="kind", time="hour", kind="classes")
        assert str(error.value).startswith(f'the frame, column "kind": {problem}, as in frame[')
    assert not called


def test_classes_stay_what_they_are(called):
    frame = PRICES.assign(kind=["n.a.", 'b "c"', "a, b", "ä"])
    stream = sb.stream_from(frame, target="kind", time="hour", kind="classes")
    assert stream.store["class"].values.tolist() == ["a, b", 'b "c"', "n.a.", "ä"]
    with pytest.raises(UserError, match='row 1, column "kind": the value is missing'):
        missing = frame.assign(kind=["a", None, "b", "b"])
        sb.stream_from(missing, target="kind", time="hour", kind="classes")


def test_a_frame_stands_for_its_file():
    with pytest.raises(UserError, match="path: the data come from the frame; leave this out"):
        sb.stream_from(PRICES, target="price", path="other.csv")


def test_a_series_without_a_name_has_all_its_values_and_booleans_are_numbers(called):
    plain = sb.stream_from(pd.Series([5.0, 6.0, 7.0, 8.0]), scaling="none")
    assert plain.store["value"].values.ravel().tolist() == [5, 6, 7, 8]
    flags = pd.DataFrame({"on": [True, False, True, True], "price": [2.0, 3.0, 5.0, 4.0]})
    assert sb.stream_from(flags, target="price").problem.input_shape == (1,)


@pytest.mark.parametrize(
    ("frame", "name", "problem"),
    [
        (
            pd.DataFrame({2019: [1.0, 2.0], 2020: [3.0, 4.0]}),
            "a",
            "named by numbers: 2019 and 2020",
        ),
        (pd.DataFrame({("a", 1): [1.0], ("y", 2): [3.0]}), "a", "the columns have several levels"),
        (PRICES, "../x", 'name: "../x"; give small letters, digits and hyphens'),
        (pd.DataFrame([[1.0, "x"]], columns=["a", "a"]), "a", "several columns are called a"),
        (pd.DataFrame({"a": ["\udce4"], "b": [1.0]}), "a", "a text has '.udce4', which no file"),
    ],
)
def test_names_that_a_file_cannot_hold_are_refused_before_it_is_written(
    frame, name, problem, own_cache
):
    with pytest.raises(UserError, match=problem):
        sb.stream_from(frame, name=name)
    assert not own_cache.exists() or not any(own_cache.rglob("*.csv"))


def test_raw_files_are_fetched_only_for_a_stream_that_is_not_in_the_cache(
    own_cache, tmp_path, monkeypatch
) -> None:
    raw_file = str(stream_jobs.RAW / "elec2" / "elec2.csv")
    planned = [
        SimpleNamespace(
            rule="fetch_raw_file", wildcards=("elec2", "elec2.csv"), inputs=[], outputs=[raw_file]
        ),
        SimpleNamespace(
            rule="build_stream", name="Building", inputs=[raw_file], outputs=["stream.zarr.zip"],
            spec={"digest": "0"},
        ),
    ]  # fmt: skip
    fetched = []
    monkeypatch.setattr(cached_jobs.raw, "fetch", lambda *given: fetched.append(given[:2]))
    monkeypatch.setattr(cached_jobs, "_command", lambda job: [])
    monkeypatch.setattr(cached_jobs, "_run", lambda job, command, outputs, bar: make(*outputs))
    for _ in range(2):
        assert cached_jobs.made(planned)["stream.zarr.zip"].is_file()
    assert fetched == [("elec2", "elec2.csv")]


def test_a_stream_that_two_processes_ask_for_at_once_is_built_once(own_cache, monkeypatch) -> None:
    planned = [
        SimpleNamespace(
            rule="build_stream", name="Building", inputs=[], outputs=["stream.zarr.zip"],
            spec={"digest": "0"},
        )
    ]  # fmt: skip
    built = []

    def build(job, command, outputs, bar) -> None:
        built.append(job.name)
        time.sleep(0.2)
        make(*outputs)

    monkeypatch.setattr(cached_jobs, "_command", lambda job: [])
    monkeypatch.setattr(cached_jobs, "_run", build)
    with ThreadPoolExecutor(2) as both:
        places = list(both.map(cached_jobs.made, [planned] * 2))
    assert places[0] == places[1] and places[0]["stream.zarr.zip"].is_file()
    assert built == ["Building"]


def make(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.touch()

"""The table of dated changes, against numbers by hand, for a series and a table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from shiftbench.data.series import series_file
from shiftbench.data.tables import table_file
from shiftbench.evaluation import table_files
from shiftbench.evaluation.artefacts import changepoint_dates
from shiftbench.evaluation.scoring import changes
from tests.evaluation.scoring import stores

DAYS = np.datetime64("2024-01-01") + np.arange(30)
START = 10
"""The first task of the second segment."""


def stored(family: str, module, folder: Path, rows: str, **settings):
    path = folder / "own.csv"
    path.write_text(rows)
    store = module.build(module.Settings(path=str(path), **settings), path)
    spec = {"stream": "own", "family": family, "settings": {"path": str(path)} | settings}
    return store.assign_attrs(spec=json.dumps(spec))


def level(folder: Path, **settings):
    """Return a daily series with values 2, then 7."""
    rows = "".join(f"{day},{2 if n < START else 7}\n" for n, day in enumerate(DAYS))
    settings = {"time": "day", "unit": "EUR"} | settings
    return stored("series-file", series_file, folder, "day,price\n" + rows, **settings)


def run(store, weights=(0.6, 0.3, 0.1), ago=(0, 2, 9)):
    """Return a run that finds the change; its second hypothesis places it some tasks earlier."""
    task, tasks = np.arange(store.sizes["task"]), store.sizes["task"]
    length = np.where(task < START, task, task - START)[None, :, None] + np.array(ago)
    length[:, :START] = task[:START, None]
    log_weight = np.broadcast_to(np.log(weights), (1, tasks, 3))
    infos = {"run_length": length.astype(float), "log_weight": log_weight}
    infos |= {"map_log_joint": log_weight, "model": np.zeros((1, tasks, 3))}
    score = np.zeros((1, 1, tasks))
    return stores.run_store(score, ["absolute_error"], store, "finds", [["x", {}]], infos)


def test_a_change_has_its_date_its_size_in_the_datas_unit_and_its_probability(tmp_path):
    store = level(tmp_path)
    study = stores.study("own", store, ["absolute_error"], [run(store)], cuts="")
    (row,) = changepoint_dates.tabulate(study).to_dict("records")
    assert (row["time"], row["column"]) == ("2024-01-11", "price")
    assert [row[one] for one in ("before", "after", "size")] == pytest.approx([2, 7, 5])
    assert row["probability"] == pytest.approx(0.9), "of changes within three days"
    caption = changepoint_dates.caption(study)
    assert "mean (EUR) in the segments" in caption and "size: after - before" in caption
    assert "Errors are in standard deviations (price: 2.36)" in caption
    table_files.save(
        changepoint_dates.tabulate(study),
        tmp_path / "dates",
        caption,
        changepoint_dates.shown(changepoint_dates.tabulate(study)),
    )
    assert "| 2024-01-11 | 0.90" in (tmp_path / "dates.md").read_text()
    assert (tmp_path / "dates.csv").read_text().startswith("stream,method,time,probability,column")


def test_a_change_found_on_other_values_is_no_row(tmp_path):
    """Seed 0 failed, and seed 1 saw another realisation than the table's values are of."""
    store = level(tmp_path).isel(realisation=[0, 0])
    seeds = [run(store), run(store).assign_coords(seed=[1]).assign(realisation=("seed", [1]))]
    both = xr.concat(seeds, "seed", data_vars="minimal").assign_attrs(seeds[0].attrs)
    study = stores.study("own", store, ["absolute_error"], [both], cuts="")
    assert len(changepoint_dates.tabulate(study)) == 1
    both["status"][0] = "failed: x"
    study = stores.study("own", store, ["absolute_error"], [both], cuts="")
    assert changepoint_dates.tabulate(study).empty
    assert "No change" not in changepoint_dates.caption(study)


def test_without_a_column_of_time_a_change_has_the_number_of_its_value(tmp_path):
    store = level(tmp_path, time="", columns=("price",), scaling="none")
    study = stores.study("own", store, ["absolute_error"], [run(store)], cuts="")
    assert changepoint_dates.tabulate(study)["time"].tolist() == [str(START + 1)]


def test_who_finds_nothing_is_named_in_the_caption_and_who_does_not_look_is_not(tmp_path):
    store = level(tmp_path)
    none = stores.run_store(np.zeros((1, 1, 30)), ["absolute_error"], store, "blind", [["x", {}]])
    steady = run(store).assign_attrs(
        none.attrs | {"spec": none.attrs["spec"].replace("blind", "calm")}
    )
    task = np.arange(30.0)[None, :, None] + np.zeros(3)
    steady["info_run_length"] = (steady["info_run_length"].dims, task)
    study = stores.study("own", store, ["absolute_error"], [none, steady], cuts="")
    assert changepoint_dates.tabulate(study).empty
    assert "No change: calm on own." in changepoint_dates.caption(study)


def test_a_change_of_a_table_has_the_size_of_what_predictions_differ_by(tmp_path):
    x = np.resize([-3.0, -1, 1, 3], 30)
    y = np.where(np.arange(30) < START, 4 + 2 * x, 4 - x)
    rows = "".join(f"{day},{a},{b}\n" for day, a, b in zip(DAYS, x, y, strict=True))
    settings = {"time": "day", "target": "y"}
    store = stored("table-file", table_file, tmp_path, "day,x,y\n" + rows, **settings)
    study = stores.study("own", store, ["absolute_error"], [run(store)], cuts="")
    (row,) = changepoint_dates.tabulate(study).to_dict("records")
    assert (row["time"], row["column"]) == ("2024-01-11", "y")
    assert row["before"] == pytest.approx(y[:START].mean())
    assert row["size"] == pytest.approx(3 * np.sqrt(np.mean(x**2)))


@pytest.mark.parametrize("time", ["day", ""])
def test_the_history_of_a_table_counts_among_the_rows_before_a_change(tmp_path, time):
    y = np.where(np.arange(35) < 5 + START, 4.0, 9.0) + np.resize([-1, 0, 1], 35)
    days = np.datetime64("2024-01-01") + np.arange(35)
    rows = "".join(f"{days[n]},{n % 4},{y[n]}\n" for n in range(35))
    settings = {"time": time, "target": "y", "history": 5}
    store = stored("table-file", table_file, tmp_path, "day,x,y\n" + rows, **settings)
    study = stores.study("own", store, ["absolute_error"], [run(store)], cuts="")
    (row,) = changepoint_dates.tabulate(study).to_dict("records")
    assert row["time"] == ("2024-01-16" if time else "16"), "the sixteenth row of the file"
    assert row["before"] == pytest.approx(y[5 : 5 + START].mean())
    what = "time: day" if time else "time: number of the row"
    assert f"{what} at which the new segment begins" in changepoint_dates.caption(study)


def test_the_probability_of_a_beams_change_is_that_of_the_histories_that_have_one_near():
    study = stores.toy_study()
    store = study.run("toy-step", "vbs-k2")
    for seed in range(store.sizes["seed"]):
        found = changes.inferred(store, seed)
        assert found is not None
        assert [change.end for change in found[:-1]] == [change.task for change in found[1:]]
        assert all(0 < change.probability < 1 + 1e-12 for change in found)

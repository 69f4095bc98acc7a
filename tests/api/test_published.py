"""All published scores are available from Python, under their labels."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest
import xarray as xr

import shiftbench as sb
from shiftbench.core import checkout
from shiftbench.core.errors import UserError
from shiftbench.data.store import zarr_zip
from shiftbench.evaluation.scoring import statistics, tidy, tidy_files

EMBEDDED = checkout.PACKAGE.parents[1] / "results/published/embedded"


@pytest.fixture(scope="module")
def published():
    return sb.load(EMBEDDED)


def test_every_score_of_a_study_is_under_its_labels(published):
    scores = published.study("contaminated-levels")["score"]
    rows = pd.read_csv(EMBEDDED / "studies/contaminated-levels/scores.csv")
    labels = rows[["stream", "learner", "metric", "seed"]]
    found = scores.to_series().loc[list(labels.itertuples(index=False, name=None))]
    assert len(rows) > 100 and found.tolist() == pytest.approx(rows["score"].tolist(), nan_ok=True)


def test_means_and_intervals_are_the_published_ones(published):
    summary = pd.read_csv(EMBEDDED / "studies/regimes/summary.csv")
    scores = published.study("regimes")["score"]
    for row in summary.itertuples():
        labels = {"stream": row.stream, "learner": row.learner, "metric": row.metric}
        found = statistics.interval(scores.sel(labels).values, statistics.bounds(row.metric))
        expected = (row.mean, row.sd, row.ci_low, row.ci_high, row.n)
        assert tuple(found) == pytest.approx(expected, nan_ok=True, abs=1e-12)


def test_intervals_are_those_that_score_tables_print(published):
    summary = pd.read_csv(EMBEDDED / "studies/regimes/summary.csv")
    found = published.intervals("regimes")
    assert found.columns.tolist() == [*tidy_files.DIMENSIONS[:3], "mean", "sd", "low", "high", "n"]
    keys = ["stream", "learner", "metric"]
    both = summary.merge(found, on=keys, suffixes=("", "_found"), validate="one_to_one")
    assert len(both) == len(found) == len(summary)
    for theirs, ours in [("mean", "mean_found"), ("ci_low", "low"), ("ci_high", "high")]:
        assert both[ours].tolist() == pytest.approx(both[theirs].tolist(), nan_ok=True)
    with pytest.raises(UserError, match='unknown study "regime"; did you mean "regimes"'):
        published.intervals("regime")


def test_comparisons_are_those_of_the_published_table(published):
    table = pd.read_csv(EMBEDDED / "studies/transformed-digits/tables/neighbours.csv")
    ours = sb.compare(published.study("transformed-digits"))
    shown = [
        f"{100 * row.difference:.2f} [{100 * row.low:.2f}, {100 * row.high:.2f}]"
        for row in ours.itertuples()
    ]
    assert shown == table["difference"].tolist()
    assert ours["resolved"].tolist() == [word == "yes" for word in table["resolved"]]


def test_all_scores_are_one_table(published):
    names = published.studies
    assert names == sorted(path.name for path in EMBEDDED.glob("studies/*"))
    assert published.scores.columns.tolist() == list(tidy.COLUMNS)
    assert set(published.scores["study"]) == set(names)
    assert repr(published).startswith(f"<results of {len(names)} studies in ")


def test_a_run_has_the_same_layout_as_its_table(workflows, tmp_path):
    whole = sb.load(workflows).study("mine")
    assert whole["score_by_task"].dims == ("stream", "learner", "metric", "seed", "task")
    table = tmp_path / "studies/mine/scores.csv"
    table.parent.mkdir(parents=True)
    shutil.copy(workflows / "studies/mine/scores.csv", table)
    assert sb.load(tmp_path).study("mine").equals(whole.drop_vars(["score_by_task", "task"]))


def test_a_folder_without_scores_is_an_error(published, tmp_path):
    with pytest.raises(UserError, match=r"no scores of studies; name .*embedded"):
        sb.load(EMBEDDED.parent)
    with pytest.raises(UserError, match="no scores of studies; name results/CONFIG"):
        sb.load(tmp_path)
    with pytest.raises(UserError, match='unknown study "nil"; did you mean "nile"'):
        published.study("nil")


HEAD = "study,stream,learner,method,metric,seed,score,status"
ROW = "nile,nile,robust,bocpd,f1,0,1.0,ok"
DAMAGED = {
    "No columns": "",
    "no row": HEAD,
    "no column score and status": "study,stream,learner,method,metric,seed\nnile,nile,r,b,f1,0",
    '"score": "high" is not a number': f"{HEAD}\n{ROW}\n{ROW.replace('1.0', 'high')}",
    'line 2, column "seed": "x" is not a whole number': f"{HEAD}\n{ROW.replace('0,1.0', 'x,1.0')}",
    'column "seed": ".5" is not a whole number': f"{HEAD}\n{ROW.replace('0,1.0', '.5,1.0')}",
    "line 3: a line above has the same stream, learner, metric and seed": f"{HEAD}\n{ROW}\n{ROW}",
    "codec": f"{HEAD}\n{ROW}\xe4",
    "Expected 8 fields": f"{HEAD}\n{ROW}\n{ROW},1,2",
}


@pytest.mark.parametrize("message", DAMAGED)
def test_a_damaged_table_is_an_error(tmp_path, message):
    place = tmp_path / "studies/nile/scores.csv"
    place.parent.mkdir(parents=True)
    place.write_bytes(DAMAGED[message].encode("latin-1"))
    results = sb.load(tmp_path)
    for read in (lambda: results.study("nile"), lambda: results.scores):
        with pytest.raises(UserError, match=r"scores\.csv is not a table of scores") as error:
            read()
        assert message in str(error.value)


def test_a_damaged_store_of_scores_is_an_error(tmp_path):
    place = tmp_path / "studies/nile"
    place.mkdir(parents=True)
    (place / "scores.csv").write_text(f"{HEAD}\n{ROW}\n")
    (place / "scores.zarr.zip").write_bytes(b"x")
    with pytest.raises(UserError, match=r"scores\.zarr\.zip"):
        sb.load(tmp_path).study("nile")
    zarr_zip.write(xr.Dataset({"score": 1.0}), place / "scores.zarr.zip")
    with pytest.raises(UserError, match=r"scores\.zarr\.zip is not a store of scores; restore it"):
        sb.load(tmp_path).study("nile")

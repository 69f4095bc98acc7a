"""The table of regressions: means and standard errors by hand, beside the paper's numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from shiftbench.core.errors import UserError
from shiftbench.evaluation.artefacts import regression_table
from shiftbench.evaluation.scoring import paper_numbers, statistics, summarise
from shiftbench.evaluation.scoring.results import StudyResults
from tests.evaluation.scoring import stores

METRICS = ["rmse", "test_log_likelihood", "test_squared_error", "test_log_density"]
SETS = {"uci-boston": (455, 51), "uci-energy": (691, 77), "diabetes": (354, 88)}
SPLITS = 4
SD = np.array([2.0, 4.0, 2.0, 4.0])


def stream(dataset, train=None, judge_on="test"):
    """Return the part of a store that scores and tables read."""
    settings = {"dataset": dataset, "judge_on": judge_on}
    sizes = dict(zip(("train", "test"), SETS[dataset], strict=True))
    if train:
        settings["validation"] = sizes["train"] - train
        sizes["train"] = train
    spec = {"stream": dataset, "family": "table-splits", "settings": settings}
    rows = {f"{part}_rows": (part, np.arange(size)) for part, size in sizes.items()}
    return xr.Dataset(
        {
            **rows,
            "target": ("row", np.zeros(3), {"units": "1000 USD"}),
            "target_sd": ("realisation", SD),
            "shift": (("realisation", "task"), np.zeros((SPLITS, 1), bool)),
        },
        coords={"feature": range(13), "task": range(1)},
        attrs={"spec": json.dumps(spec), "dataset": dataset, "classes": 0},
    )


def scores(random):
    """Return squared errors and log densities [metric, split, task] of a method."""
    return np.stack([random.gamma(2.0, size=(SPLITS, 1)), random.normal(-1, 0.3, (SPLITS, 1))])


def study(streams=None, metrics=METRICS, failed=()):
    streams = streams or {name: stream(name) for name in SETS}
    random, runs = np.random.default_rng(0), []
    methods = {"mfvi": "mfvi", "ours": "radial"}
    for name, store in streams.items():
        for method in methods:
            status = ["failed: memory" if (name, method, s) in failed else "ok" for s in range(4)]
            values = scores(random)
            runs.append(
                stores.run_store(
                    values, METRICS[2:], store, method, [[method, {}]], None, 0, status
                )
            )
    spec = {"study": "s", "metrics": metrics, "learners": list(methods), "streams": list(streams)}
    tree, table = summarise.summarise(spec | {"methods": methods, "reference": None}, streams, runs)
    return StudyResults(
        "s", "A study", "", "", stores.by_path(tree), table, streams, method_of=methods,
        labels={"mfvi": "MFVI", "ours": "Radial"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def made():
    results = study()
    return results, regression_table.tabulate(results).set_index(["score", "data set"])


def test_cells_are_means_and_standard_errors_in_the_units_of_the_data(made):
    results, table = made
    for name in SETS:
        run = results.run(name, "ours")["score"]
        squared = run.sel(metric="test_squared_error").values[:, 0]
        rmse = np.sqrt(squared) * SD
        mean, error = (
            float(word) for word in table["Radial"]["RMSE", name].replace("±", "").split()
        )
        assert mean == pytest.approx(rmse.mean(), abs=0.005)
        assert error == pytest.approx(stats.sem(rmse), abs=0.005)
        density = run.sel(metric="test_log_density").values[:, 0] - np.log(SD)
        cell = table["Radial"]["log likelihood", name]
        assert float(cell.split()[0]) == pytest.approx(density.mean(), abs=0.005)
    assert (table["n"] == SPLITS).all()
    assert table["unit"]["RMSE", "uci-boston"] == "1000 USD"


def test_the_papers_seven_columns_stand_in_its_order(made):
    _, table = made
    names = ["MFVI", "Radial", "Dropout", "VMG", "FBNN", "PBP_MV", "DVI"]
    assert table.columns.tolist()[-7:] == [f"[{name}]" for name in names]
    assert table["[Radial]"]["RMSE", "uci-boston"] == "3.36 ± 0.23"
    assert table["[DVI]"]["log likelihood", "uci-energy"] == "-1.01 ± 0.06"
    assert table["[DVI]"]["RMSE", "uci-energy"] == ""  # no number is printed
    assert (table.loc[("RMSE", "diabetes")].tolist()[-7:]) == [""] * 7


def test_the_misprint_is_shown_as_printed_and_told(made):
    results, table = made
    assert table["[PBP_MV]"]["log likelihood", "uci-boston"] == "2.54 ± 0.08 (sic)"
    assert "(sic): printed as 02.54, must be -2.54" in regression_table.caption(results)
    without = study({"uci-energy": stream("uci-energy")})
    assert "(sic)" not in regression_table.caption(without)


def test_data_that_the_paper_does_not_have_are_alone():
    results = study({"diabetes": stream("diabetes")})
    table = regression_table.tabulate(results)
    assert not [name for name in table.columns if name.startswith("[")] and "note" not in table
    assert "Farquhar" not in regression_table.caption(results)


def test_fewer_training_rows_are_noted_and_validation_is_no_test():
    results = study({"uci-boston": stream("uci-boston", train=228)})
    table = regression_table.tabulate(results)
    assert table["note"].tolist() == ["0.5 of the paper's training"] * 2
    tuning = study({"uci-boston": stream("uci-boston", judge_on="validation")})
    assert not [name for name in regression_table.tabulate(tuning) if name.startswith("[")]
    assert "In brackets" not in regression_table.caption(tuning)


def test_a_method_with_fewer_splits_says_so():
    table = regression_table.tabulate(study(failed={("uci-boston", "ours", 2)}))
    table = table.set_index(["score", "data set"])
    assert table["Radial"]["RMSE", "uci-boston"].endswith("(n = 3)")
    assert table["n"]["RMSE", "uci-boston"] == 4
    assert "(n" not in table["MFVI"]["RMSE", "uci-boston"]


@pytest.mark.parametrize(
    ("mean", "errors", "cell"),
    [
        (3.456, (0.23,), "3.46 ± 0.23"),
        (3.456, (0.023, 0.009, 2.0), "3.456 ± 0.023"),
        (0.00212, (0.00013,), "0.00212 ± 0.00013"),
        (12.34, (0.0,), "12.34 ± 0.00"),
        (12.34, (45.0,), "12.34 ± 45.00"),
    ],
)
def test_decimals_show_two_digits_of_the_middle_error_of_a_row(mean, errors, cell):
    nan = np.nan
    row = [statistics.Interval(mean, 2 * error, nan, nan, 4) for error in errors]
    assert regression_table._cell(row[0], regression_table._decimals(row), 4) == cell


def test_a_single_split_has_no_error():
    one = statistics.Interval(4.0, np.nan, np.nan, np.nan, 1)
    assert regression_table._cell(one, regression_table._decimals([one]), 1) == "4.00"
    none = statistics.Interval(np.nan, np.nan, np.nan, np.nan, 0)
    assert regression_table._cell(none, 2, 1) == ""


def test_a_missing_metric_is_told():
    results = study({"diabetes": stream("diabetes")}, metrics=METRICS[1:])
    with pytest.raises(UserError, match="regression-table needs the metric rmse"):
        regression_table.tabulate(results)


def test_its_own_likelihoods_lie_far_below_what_its_errors_allow():
    """Compare with a normal around predictions with this error: -log(error) - 1.42."""
    table = next(
        one for one in paper_numbers.tables() if one.table == "Table 2" and "UCI" in one.title
    )
    found = {}
    for row in table.rows:
        found[row.method, row.metric] = {name: mean for name, (mean, _) in row.numbers.items()}
    for method in ("radial", "mfvi"):
        errors, printed = found[method, "rmse"], found[method, "test_log_likelihood"]
        best = {name: -np.log(errors[name]) - 0.5 * np.log(2 * np.pi * np.e) for name in printed}
        below = {name.removeprefix("uci-") for name in printed if best[name] - printed[name] > 1}
        assert below >= {"concrete", "naval", "power-plant", "wine", "yacht"}
        assert not below & {"boston", "energy", "protein"}


def test_table_2_is_complete():
    (table,) = (
        one
        for one in paper_numbers.tables()
        if (one.paper, one.table) == ("farquhar2020radial", "Table 2")
    )
    datasets = {name for row in table.rows for name in row.numbers}
    missing = {
        (row.method, row.metric): sorted(datasets - row.numbers.keys())
        for row in table.rows
        if datasets - row.numbers.keys()
    }
    fbnn = ["uci-kin8nm", "uci-power-plant"]
    assert missing == {("fbnn", name): fbnn for name in regression_table.SCORES}
    assert len(table.rows) == 13  # DVI has no errors
    assert sum(len(row.numbers) for row in table.rows) == 13 * 9 - 4

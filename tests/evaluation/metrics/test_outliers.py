"""Metrics of known outliers, on alarms and scores by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from shiftbench.evaluation.metrics import outliers
from shiftbench.evaluation.scoring import alarms

TASKS = 200
SPEC = {"family": "simulated-changes", "settings": {}}


def stores(alarm_at, outlier_at, shift_at=()):
    """Return a run of one seed with immediate alarms at these tasks, and its stream."""
    marks = np.zeros((3, TASKS), bool)
    for row, places in zip(marks, (alarm_at, outlier_at, shift_at), strict=True):
        row[list(places)] = True
    alarm, outlier, shift = marks[:, None]
    dims = ("seed", "task", "hypothesis")
    zero = np.zeros((1, TASKS, 1))
    run = xr.Dataset(
        {
            "info_shift": (dims, alarm[..., None].astype(int)),
            "info_parent": (dims, zero.astype(int)),
            "info_log_weight": (dims, zero),
            "realisation": ("seed", [0]),
            "score": (("metric", "seed", "task"), np.arange(1.0 * TASKS)[None, None]),
        },
        {"metric": ["crps"]},
    )
    truth = {
        name: (("realisation", "task"), of) for name, of in (("shift", shift), ("outlier", outlier))
    }
    return run, xr.Dataset(truth, attrs={"spec": json.dumps(SPEC)})


@pytest.mark.parametrize(
    ("alarm_at", "expected"),
    [
        ([], 0.0),
        ([20], 1 / 3),
        ([19, 30], 0.0),  # before an outlier, and after its ten tasks
        ([29, 64, 73, 120], 1.0),  # in the last of its ten tasks, inside a burst, and after its end
        ([74], 0.0),
        ([44, 45], 0.0),
    ],
)
def test_alarms_belong_to_bursts(alarm_at, expected):
    """Bursts are at 20, from 60 to 64, and at 120; m is 10 for tasks of one row."""
    assert alarms.ROWS.recent == 10
    run, stream = stores(alarm_at, [20, *range(60, 65), 120])
    assert outliers.alarms_at_outliers(run, stream) == pytest.approx([expected])


def test_an_alarm_belongs_to_the_next_burst_once_that_has_begun():
    run, stream = stores([24], [20, 24])
    assert outliers.alarms_at_outliers(run, stream) == [0.5]


def test_outliers_after_a_shift_are_left_out():
    run, stream = stores([40, 160], [40, 130, 160], shift_at=[100])
    assert alarms.ROWS.window == 50
    assert outliers.alarms_at_outliers(run, stream) == [1.0]
    run, stream = stores([130], [130], shift_at=[100])
    assert np.isnan(outliers.alarms_at_outliers(run, stream)).all()


def test_clean_scores_leave_outliers_out():
    run, stream = stores([], [0, 199])
    assert outliers.on_clean_rows(run, stream, metric="crps") == [np.arange(1, 199).mean()]


def test_clean_scores_leave_tasks_without_a_score_out_as_scores_of_tasks_do():
    run, stream = stores([], [0, 199])
    run["score"][..., 5] = np.nan
    expected = np.delete(np.arange(1.0, 199), 4).mean()
    assert outliers.on_clean_rows(run, stream, metric="crps") == [expected]
    run["score"][..., 1:199] = np.nan
    assert np.isnan(outliers.on_clean_rows(run, stream, metric="crps")).tolist() == [True]


def test_learners_without_decisions_have_no_alarms():
    run, stream = stores([], [20])
    run = run.drop_vars(["info_shift", "info_parent"])
    assert np.isnan(outliers.alarms_at_outliers(run, stream)).all()

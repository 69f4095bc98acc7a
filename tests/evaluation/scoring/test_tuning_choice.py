"""The best trial, for metrics of either direction, with ties and failures."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring import tuning_choice


def spec(higher=True):
    trials = {f"ewc-{i}": {"map.strength": 10**i} for i in range(3)}
    return {
        "study": "study", "stream": "digits-tuning", "learner": "ewc", "metric": "acc",
        "higher_is_better": higher, "trials": trials,
    }  # fmt: skip


def cube(rows):
    """Return scores of three trials (rows) in two seeds, next to those of another learner."""
    score = np.array([[1.0, 1.0], *rows], float)[None, :, None]
    coords = {
        "stream": ["digits-tuning"], "learner": ["vogn-0", "ewc-0", "ewc-1", "ewc-2"],
        "metric": ["acc"], "seed": [0, 1],
    }  # fmt: skip
    cube = xr.Dataset({"score": (("stream", "learner", "metric", "seed"), score)}, coords)
    return xr.DataTree.from_dict({"/scores": cube})


@pytest.mark.parametrize(
    ("rows", "higher", "winner"),
    [
        ([[0.1, 0.3], [0.5, 0.4], [0.4, 0.4]], True, 10),
        ([[0.1, 0.3], [0.5, 0.4], [0.4, 0.4]], False, 1),
        ([[0.4, 0.4], [0.1, 0.1], [0.4, 0.4]], True, 1),
        ([[np.nan, 0.9], [0.1, 0.2], [np.nan, np.nan]], True, 10),
    ],
)
def test_the_best_mean_wins(rows, higher, winner):
    found = tuning_choice.best(spec(higher), cube(rows))
    assert found["settings"] == {"map.strength": winner}
    assert [trial["settings"]["map.strength"] for trial in found["trials"]] == [1, 10, 100]
    expected = [None if np.isnan(row).any() else np.mean(row) for row in rows]
    assert [trial["score"] for trial in found["trials"]] == expected


def test_without_a_good_trial_there_is_no_choice():
    with pytest.raises(UserError, match="all trials of ewc on digits-tuning failed"):
        tuning_choice.best(spec(), cube([[np.nan, 1], [1, np.nan], [np.nan, np.nan]]))

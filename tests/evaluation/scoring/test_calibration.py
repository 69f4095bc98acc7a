"""The sentence on calibration: which intervals count as calibrated, and the suggested remedy."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from shiftbench.evaluation.scoring import calibration


@pytest.mark.parametrize(
    ("share", "values", "state"),
    [
        (0.95, 400, ""),
        (0.41, 400, "narrow"),
        (0.89, 400, "narrow"),
        (0.91, 400, ""),
        (0.85, 20, ""),  # three of twenty outside is within chance
        (1.0, 400, "wide"),
        (1.0, 50, ""),
    ],
)
def test_a_share_is_judged_beside_what_chance_explains(share, values, state):
    assert calibration.verdict(share, values) == state


def cube(metric: str = "interval_coverage", **within: int) -> xr.Dataset:
    """Return scores of learners on one stream, each with a number of 100 values inside."""
    score = np.array([[[np.arange(100) < number]] for number in within.values()], float)
    dims = ("stream", "learner", "metric", "seed", "task")
    names = {"stream": ["prices"], "learner": list(within), "metric": [metric]}
    return xr.Dataset({"score_by_task": (dims, score[None])}, names)


def test_the_sentence_names_the_remedy_where_intervals_are_too_narrow():
    found = calibration.sentence(cube(good=95, poor=41), ["prices"], {"good": "Good"})
    assert found.startswith("95 % of the values for Good, only 41 % for poor lie within the 95 %")
    assert "the noise is set too small" in found and "bocpd-table" in found


def test_calibrated_predictions_need_no_remedy_and_without_the_metric_nothing_is_said():
    found = calibration.sentence(cube(good=95), ["prices"], {})
    assert (
        found == "95 % of the values for good lie within the 95 % predictive interval: calibrated"
    )
    assert calibration.sentence(cube("absolute_error", good=95), ["prices"], {}) == ""

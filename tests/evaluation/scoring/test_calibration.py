"""The sentence on calibration: which intervals count as calibrated, and the suggested remedy."""

from __future__ import annotations

import json

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
        (0.85, 20, "few"),  # three of twenty outside is within chance
        (1.0, 400, "wide"),
        (1.0, 50, "few"),
    ],
)
def test_a_share_is_judged_beside_what_chance_explains(share, values, state):
    assert calibration.verdict(share, values) == state


def cube(metric: str = "interval_coverage", **within: int) -> xr.Dataset:
    """Return scores of learners on one stream, each with a number of 100 values inside."""
    score = np.array([[[np.arange(100) < number]] for number in within.values()], float)
    dims = ("stream", "learner", "metric", "seed", "task")
    names = {"stream": ["prices"], "learner": list(within), "metric": [metric], "seed": [0]}
    return xr.Dataset({"score_by_task": (dims, score[None])}, names)


def stream(realisations: int, family: str = "toy-step", **settings) -> xr.Dataset:
    """Return a stream without values."""
    spec = json.dumps({"stream": "prices", "family": family, "settings": settings})
    return xr.Dataset(coords={"realisation": range(realisations)}, attrs={"spec": spec})


PRICES = {"prices": stream(1)}


def test_the_sentence_names_the_remedy_where_intervals_are_too_narrow():
    found = calibration.sentence(cube(good=95, poor=41), PRICES, {"good": "Good"})
    assert found.startswith("95 % of the values for Good, only 41 % for poor lie within the 95 %")
    assert "the noise is set too small" in found and "bocpd-table" in found


def test_methods_with_too_few_tasks_are_named_beside_others():
    few = cube(sure=20, good=19, poor=3).isel(task=slice(20))
    found = calibration.sentence(few, PRICES, {})
    assert "; too few tasks to tell whether predictions of sure are calibrated; the noise" in found


def test_calibrated_predictions_need_no_remedy_and_without_the_metric_nothing_is_said():
    found = calibration.sentence(cube(good=95), PRICES, {})
    assert (
        found == "95 % of the values for good lie within the 95 % predictive interval: calibrated"
    )
    assert calibration.sentence(cube("absolute_error", good=95), PRICES, {}) == ""


GIVEN = {"dataset": "nile", "scaling": "none", "centre": "none"}


@pytest.mark.parametrize(
    ("store", "state"),
    [
        (stream(1), "; too few tasks to tell"),
        (stream(2), "; too few tasks to tell"),
        (stream(3, "series", **GIVEN), "; too few tasks to tell"),  # realisations of the same data
        (stream(10), "; the noise is set too large"),
    ],
    ids=["one", "two", "the same", "each its own"],
)
def test_seeds_that_see_the_same_data_count_once(store, state):
    """All of 20 values can lie inside by chance; all of 200 cannot."""
    one = cube(sure=100).isel(task=slice(20))
    ten = one.isel(seed=[0] * 10).assign_coords(seed=range(10))
    said = "100 % of the values for sure lie within the 95 % predictive interval"
    assert calibration.sentence(one, {"prices": store}, {}).startswith(f"{said}; too few tasks")
    assert calibration.sentence(ten, {"prices": store}, {}).startswith(f"{said}{state}")


def test_tasks_without_a_score_are_no_values():
    """On two realisations, one of 50 tasks and one of 20, there are 70 values, not 400."""
    one = cube(sure=100).isel(task=slice(50))
    eight = one.isel(seed=[0] * 8).assign_coords(seed=range(8)).copy(deep=True)
    eight["score_by_task"][:, :, :, 1::2, 20:] = np.nan
    data = calibration._data(stream(2), eight["seed"].values)
    assert calibration._independent(eight["score_by_task"].values[0, 0, 0], data) == 70

"""Text of scores, and the unit of errors: standard deviations if a user's data are scaled."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from shiftbench.evaluation.scoring import units


def stream(path: str, **scale) -> xr.Dataset:
    spec = {"family": "table-file", "settings": {"path": path}}
    found = xr.Dataset({name: ("realisation", [value]) for name, value in scale.items()})
    return found.assign_attrs(spec=json.dumps(spec), target="price")


@pytest.mark.parametrize(
    ("path", "scale", "scaled"),
    [
        ("mine.csv", {"target_sd": 13.44}, True),
        ("mine.csv", {}, False),
        ("", {"target_sd": 2.0}, False),
    ],
)
def test_only_a_users_scaled_data_have_errors_in_standard_deviations(path, scale, scaled):
    streams = {"prices": stream(path, **scale)}
    unit = "standard deviation" if scaled else "unit of the series"
    assert units.unit("absolute_error", streams) == unit
    assert units.unit("squared_error", streams) == f"squared {unit}"
    assert units.unit("log_predictive", streams) == "nats per observation"
    words = "Errors are in standard deviations (price: 13.4)" if scaled else ""
    assert units.sentence(streams, ["absolute_error"]) == words
    assert units.sentence(streams, ["log_predictive"]) == ""


def test_each_series_has_its_own_standard_deviation():
    found = xr.Dataset({"scale": (("realisation", "series"), np.array([[2.0, 300.0]]))})
    found = found.assign_coords(series=["a", "b"]).assign_attrs(stream("mine.csv").attrs)
    told = units.sentence({"own": found}, ["squared_error"])
    assert told == "Errors are in standard deviations (a: 2, b: 300)"


def test_fractions_are_shown_in_percent_and_other_scores_with_digits():
    assert units.text("accuracy", 0.98765) == "98.8"
    assert units.text("accuracy", 0.98765, units.LONG) == "98.77"
    assert units.text("nll", 1.23456) == "1.23"
    assert units.text("nll", 1.23456, units.LONG) == "1.235"
    assert units.text("nll", 0.5, sign="+") == "+0.5"
    assert units.text("accuracy", -0.0001, sign="+") == "+0.0"
    assert units.text("accuracy", np.nan) == units.text("nll", np.nan) == ""


def test_an_interval_of_one_seed_is_its_mean():
    assert units.interval(0.5, 0.25, 0.75, units.decimals(2)) == "0.50 [0.25, 0.75]"
    assert units.interval(0.5, np.nan, np.nan, units.decimals(2)) == "0.50"
    assert units.ends(np.nan, np.nan, str) == ""


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (3e-4, "0.0003"),
        (-3.21e-5, "-3.2e-05"),
        (0.00949, "0.0095"),
        (0.00951, "0.010"),
        (0.1, "0.100"),
        (12.0, "12.000"),
        (0.0, "0.000"),
        (-1.4e-17, "0.000"),
    ],
)
def test_a_number_that_three_decimals_hide_has_two_digits(value, shown):
    assert units.exact(value) == shown

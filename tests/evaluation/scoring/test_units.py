"""The unit of errors: the data's, or standard deviations if a user's data are scaled."""

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

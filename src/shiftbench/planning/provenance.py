"""What a store says about itself: the spec it was made from, and the reader of its stream."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import xarray as xr

from shiftbench.planning import components


def spec(store: xr.Dataset) -> dict[str, Any]:
    """The spec in the attributes of a run or stream store."""
    return json.loads(store.attrs["spec"])


def settings(run: xr.Dataset, component: str) -> dict[str, Any] | None:
    """Settings of one component of the run's learner; None if it is no part of it."""
    return dict(spec(run)["learner"]).get(component)


def dataset(stream: xr.Dataset) -> str | None:
    """The raw data set that a stream was made from; None for a generated stream."""
    return spec(stream)["settings"].get("dataset")


def reader(stream: xr.Dataset) -> ModuleType:
    """The module of the stream's family, with `task` and `problem`."""
    return components.load("streams", spec(stream)["family"])

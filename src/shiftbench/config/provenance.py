"""Reads the spec that a store was made from, and finds the module that reads its stream."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import xarray as xr

from shiftbench.config import components, spec_files
from shiftbench.config.pipeline_parts import by_kind


def spec(store: xr.Dataset | xr.DataTree) -> dict[str, Any]:
    """Return the spec in the attributes of a run or stream store."""
    return spec_files.parsed(store.attrs["spec"])


def offering(run: xr.Dataset, word: str) -> dict[str, Any] | None:
    """Return the settings of the outermost component of the run's learner that offers a word.

    None if none does. Components are found by what they declare, not by their names.
    """
    for kind, (name, given) in by_kind(spec(run)["learner"]):
        known = name in components.names(kind)
        if known and word in components.facts(kind, name).words("offers", given):
            return given
    return None


def dataset(stream: xr.Dataset) -> str | None:
    """Return the raw data set that a stream was made from; None for a generated stream."""
    return spec(stream)["settings"].get("dataset")


def reader(stream: xr.Dataset) -> ModuleType:
    """Return the module of the stream's family, with `task` and `problem`."""
    return components.load("streams", spec(stream)["family"])

"""Facts that the family of a stream declares, read from the spec in its store."""

from __future__ import annotations

import xarray as xr

from shiftbench.config import components, provenance


def words(stream: xr.Dataset, fact: str) -> frozenset[str]:
    """Return the words of a fact that hold with the settings of the stream."""
    spec = provenance.spec(stream)
    return components.facts("streams", spec["family"]).words(fact, spec["settings"])

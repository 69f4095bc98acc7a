"""Units in which scores are shown: percent for fractions, and those of a user's scaled data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import xarray as xr

from shiftbench.config import components, provenance

SCALED = "unit of the series"
"""Unit of the metrics whose unit the scaling changes; the unit of squared errors ends with it."""


def factor(metric: str) -> int:
    """Return the factor of displayed scores: 100 for fractions, which are shown in percent."""
    return 100 if components.metric(metric).unit == "fraction" else 1


def unit(metric: str, streams: Mapping[str, xr.Dataset]) -> str:
    """Return the unit of a metric on these streams: standard deviations on a user's scaled data."""
    declared = components.metric(metric).unit
    scaled = all(_own(store) and any(_scales(store)) for store in streams.values())
    return declared.replace(SCALED, "standard deviation") if scaled else declared


def sentence(streams: Mapping[str, xr.Dataset], metrics: Iterable[str]) -> str:
    """Say what one unit of the errors is; empty for data that are not a user's or not scaled."""
    units = [components.metric(name).unit for name in metrics]
    if not any(unit.endswith(SCALED) for unit in units):
        return ""
    scales = [text for store in streams.values() if _own(store) for text in _scales(store)]
    return (
        f"Errors are in standard deviations ({', '.join(dict.fromkeys(scales))})" if scales else ""
    )


def _own(store: xr.Dataset) -> bool:
    """Return whether the data are a user's."""
    return bool(provenance.spec(store).get("settings", {}).get("path"))


def _scales(store: xr.Dataset) -> Iterator[str]:
    """Describe the standard deviation of the target of a table, or of each series."""
    if "target_sd" in store:
        yield f"{store.attrs['target']}: {store['target_sd'].values[0]:.3g}"
    elif "scale" in store:
        for name, scale in zip(store["series"].values, store["scale"].values[0], strict=True):
            yield f"{name}: {scale:.3g}"

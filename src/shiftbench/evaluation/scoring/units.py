"""In which units errors are on data of a user's own that are scaled, in words for captions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import xarray as xr

from shiftbench.config import components, provenance

SCALED = "unit of the series"
"""UNIT of the metrics whose unit the scaling changes; also the end of that of squared errors."""


def unit(metric: str, streams: Mapping[str, xr.Dataset]) -> str:
    """The unit of a metric on these streams: where a user's are scaled, standard deviations."""
    told = components.metric(metric).unit
    scaled = all(_own(store) and any(_scales(store)) for store in streams.values())
    return told.replace(SCALED, "standard deviation") if scaled else told


def sentence(streams: Mapping[str, xr.Dataset], metrics: Iterable[str]) -> str:
    """What one unit of the errors is; empty where data are not a user's, or not scaled."""
    units = [components.metric(name).unit for name in metrics]
    if not any(unit.endswith(SCALED) for unit in units):
        return ""
    told = [text for store in streams.values() if _own(store) for text in _scales(store)]
    return f"Errors are in standard deviations ({', '.join(dict.fromkeys(told))})" if told else ""


def _own(store: xr.Dataset) -> bool:
    return bool(provenance.spec(store).get("settings", {}).get("path"))


def _scales(store: xr.Dataset) -> Iterator[str]:
    """The standard deviation of the target of a table, or of each series."""
    if "target_sd" in store:
        yield f"{store.attrs['target']}: {store['target_sd'].values[0]:.3g}"
    elif "scale" in store:
        for name, scale in zip(store["series"].values, store["scale"].values[0], strict=True):
            yield f"{name}: {scale:.3g}"

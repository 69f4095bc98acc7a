"""Scores as they are shown: their text and unit, in percent for fractions.

The errors of a user's scaled data are in standard deviations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import xarray as xr

from shiftbench.config import components, metric_words, provenance


class Precision(NamedTuple):
    """Precision of displayed scores: decimals of percents, significant digits of others."""

    decimals: int
    digits: int


SHORT, LONG = Precision(1, 3), Precision(2, 4)
ROUNDING = 1e-12
"""Largest size of a score that is the rounding error of a 0."""
SCALED = "unit of the series"
"""Unit of the metrics whose unit the scaling changes; the unit of squared errors ends with it."""


def factor(metric: str) -> int:
    """Return the factor of displayed scores: 100 for fractions, which are shown in percent."""
    return 100 if components.metric(metric).unit == "fraction" else 1


def text(metric: str, value: float, precision: Precision = SHORT, sign: str = "") -> str:
    """Return a score as displayed, without its unit; empty for NaN. sign: "+" for differences."""
    if math.isnan(value):
        return ""
    if factor(metric) > 1:
        return f"{factor(metric) * value:{sign}z.{precision.decimals}f}"
    return f"{value:{sign}z.{precision.digits}g}"


def with_percent(metric: str, value: float, precision: Precision = SHORT) -> str:
    """Return a score as displayed, with % for a fraction; empty for NaN."""
    number = text(metric, value, precision)
    return f"{number} %" if number and factor(metric) > 1 else number


def decimals(number: int) -> Callable[[float], str]:
    """Return the function that formats a number with `number` decimals."""
    return f"{{:.{number}f}}".format


def exact(value: float) -> str:
    """Return a number with three decimals, or with two digits where three decimals show fewer."""
    lost = abs(value) > ROUNDING and abs(round(value, 3)) < 0.01
    return f"{value:.2g}" if lost else f"{value:z.3f}"


def interval(mean: float, low: float, high: float, shown: Callable[[float], str]) -> str:
    """Return "mean [low, high]", each number as `shown`; without the interval where it is NaN."""
    return " ".join(filter(None, (shown(mean), ends(low, high, shown))))


def ends(low: float, high: float, shown: Callable[[float], str]) -> str:
    """Return "[low, high]", each number as `shown`; empty without an interval."""
    return "" if math.isnan(low) else f"[{shown(low)}, {shown(high)}]"


def shown_unit(metric: str) -> str:
    """Return the unit of displayed scores: % for fractions; "" for a score without a unit."""
    declared = components.metric(metric).unit
    return "%" if declared == "fraction" else declared


def label(metric: str) -> str:
    """Return a metric in words with the unit of displayed scores, for axes."""
    shown = shown_unit(metric)
    return f"{metric_words.words(metric)}{f' ({shown})' if shown else ''}"


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

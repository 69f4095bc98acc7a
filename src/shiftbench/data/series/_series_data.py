"""The series that the family `series` can show, and what is known about their changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shiftbench.data.series import _london_nox, _nile, _simulated_ar, _stationary_ar, _well_log
from shiftbench.data.series._series_store import Series


def nile() -> Series:
    """The hundred flows of the Nile."""
    value = np.array(_nile.FLOW, float)[None, :, None]
    years = _nile.FIRST_YEAR + np.arange(value.shape[1])
    return Series(value, years, ["Aswan"], "1e8 m3", "accepted", [_nile.NEW_SEGMENT])


def well_log(raw: Path) -> Series:
    """The well-log, all 4050 values."""
    value = _well_log.values(raw)[None, :, None]
    changes = [_well_log.EVERY * point for point in _well_log.AGREED]
    time = 1 + np.arange(value.shape[1])
    annotations, every = _well_log.ANNOTATIONS, _well_log.EVERY
    return Series(value, time, ["well"], "1", "annotated", changes, annotations, every)


def london_nox(raw: Path) -> Series:
    """Nitrogen oxides in London; there is an event, but no accepted segmentation."""
    return Series(
        _london_nox.daily(raw)[None],
        _london_nox.dates(),
        _london_nox.STATIONS,
        "unknown",
        "unknown",
        [],
        look_ahead="weekday means",
        event=(_london_nox.CONGESTION_CHARGE, "the congestion charge begins"),
    )


def simulated_ar(
    realisations: int,
    series: int,
    noise: _simulated_ar.Noise,
    innovations: _simulated_ar.Innovations,
) -> Series:
    """Autoregressions with known changes."""
    drawn = [
        _simulated_ar.generate(number, series, noise, innovations) for number in range(realisations)
    ]
    value = np.stack(drawn)
    names = [f"series {number}" for number in range(series)]
    time = 1 + np.arange(value.shape[1])
    return Series(value, time, names, "1", "known", _simulated_ar.CHANGES)


def stationary_ar(realisations: int, series: int) -> Series:
    """Autoregressions without a change."""
    drawn = [_stationary_ar.generate(number, series) for number in range(realisations)]
    names = [f"series {number}" for number in range(series)]
    time = 1 + np.arange(_stationary_ar.VALUES)
    return Series(np.stack(drawn), time, names, "1", "known", [])

"""Daily nitrogen oxides at 29 stations in London, 17 August 2002 to 17 August 2003.

Source: knoblauch2018robust, 5.2, prepared as in the authors' script: means of twelve two-hour
values a day, minus the mean of the weekday over the whole year (a look-ahead). Rings around a
station are the other stations at a distance within two limits, by road or as the crow flies. The
congestion charge began on 17 February 2003.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shiftbench.data.series import _number_files
from shiftbench.data.series._series_store import Series

STATIONS = (
    "BT1", "BX1", "BX2", "CR2", "CR4", "EA1", "EA2", "EN1", "GR4", "GR5",
    "HG1", "HG2", "HI0", "HI1", "HR1", "HS2", "HV1", "HV3", "KC1", "KC2",
    "LH2", "MY1", "RB3", "RB4", "TD0", "TH1", "TH2", "WA2", "WL1",
)  # fmt: skip
FIRST_DAY = np.datetime64("2002-08-17")
CONGESTION_CHARGE = 184
"""Number of 17 February 2003, from 0."""
DAYS = 366
VALUES_PER_DAY = 12
DAYS_PER_WEEK = 7
RING_LIMITS = (0.0, 10.0, 20.0, 30.0, 40.0, 100.0)
DISTANCES = {"road": "RoadDistanceMatrix", "euclid": "EuclideanDistanceMatrix"}


def read(raw: Path) -> Series:
    """Read the nitrogen oxides [366, 29]: there is an event, but no accepted segmentation.

    UserError if a file is missing or wrong.
    """
    return Series(
        _daily(raw)[None],
        time=(FIRST_DAY + np.arange(DAYS)).astype(str),
        names=STATIONS,
        units="unknown",
        truth="unknown",
        changes=[],
        look_ahead="weekday means",
        event=(CONGESTION_CHARGE, "the congestion charge begins"),
    )


def neighbours(raw: Path, rings: int) -> np.ndarray:
    """Return the stations in each ring [3, ring, 29, 29] bool, for own lag, road and euclid.

    The rings of the own-lag model are empty.
    """
    limits = np.array(RING_LIMITS[: rings + 1])
    size = len(STATIONS)
    within = np.zeros((1 + len(DISTANCES), rings, size, size), bool)
    for model, name in enumerate(DISTANCES.values(), start=1):
        distance = _number_files.read(raw / f"{name}_bigger.csv", (size, size), delimiter=",")
        within[model] = (distance > limits[:-1, None, None]) & (distance < limits[1:, None, None])
    return within


def _daily(raw: Path) -> np.ndarray:
    """Return daily means less weekday means [366, 29]."""
    columns = [
        _number_files.read(raw / f"{name}_081702-081703_2h.txt", (DAYS * VALUES_PER_DAY,), skip=1)
        for name in STATIONS
    ]
    means = np.stack(columns, axis=1).reshape(DAYS, VALUES_PER_DAY, -1).mean(axis=1)
    for day in range(DAYS_PER_WEEK):
        means[day::DAYS_PER_WEEK] -= means[day::DAYS_PER_WEEK].mean(axis=0)
    return means

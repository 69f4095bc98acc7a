"""Nuclear magnetic response of a well, 4050 values, with the changepoints that people marked.

Source: J. J. K. O Ruanaidh and W. J. Fitzgerald, 1996. The annotations are those of TCPD
(G. J. J. van den Burg and C. K. I. Williams, 2020, arXiv:2003.06222, annotations.json):
five people saw every sixth value; positions count from 0 in the values that they saw.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shiftbench.data.series import _number_files
from shiftbench.data.series._series_store import Series

POINTS = 4050
EVERY = 6
ANNOTATIONS = {
    "6": (179, 255, 281, 311, 343, 402, 413, 422, 432, 462, 464),
    "7": (179, 255, 281, 312, 343, 402, 412, 422, 432),
    "8": (179, 255, 282, 312, 343, 402, 413, 422, 432),
    "12": (177, 467),
    "13": (4, 179, 255, 281, 311, 344, 402, 412, 422, 432, 462, 464, 521, 526, 620, 643, 661),
}
AGREED = (179, 255, 281, 311, 343, 402, 413, 422, 432)
"""Positions at which four of the five have a changepoint within one value of each other."""


def read(raw: Path) -> Series:
    """Read the well-log, all 4050 values. UserError if the file is missing or wrong."""
    value = _number_files.read(raw / "well.txt", (POINTS,))[None, :, None]
    return Series(
        value,
        time=1 + np.arange(POINTS),
        names=["well"],
        units="1",
        truth="annotated",
        changes=[EVERY * point for point in AGREED],
        annotations=ANNOTATIONS,
        every=EVERY,
    )

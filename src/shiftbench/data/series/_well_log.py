"""Nuclear magnetic response of a well, 4050 values, with the changepoints that people saw.

Source: J. J. K. O Ruanaidh and W. J. Fitzgerald, 1996. The annotations are those of TCPD
(G. J. J. van den Burg and C. K. I. Williams, 2020, arXiv:2003.06222, annotations.json):
five people saw every sixth value; positions count from 0 in the values that they saw.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shiftbench.data.series import _number_files

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
"""Where four of the five have a changepoint within one value of each other."""


def values(raw: Path) -> np.ndarray:
    """The series [4050]; UserError where the file is missing or not as it should be."""
    return _number_files.read(raw / "well.txt", (POINTS,))

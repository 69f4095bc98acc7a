"""F1 of the changepoints in hindsight, with a margin of 5, as TCPDBench defines it.

Against annotators, on the values that they saw, or else the true shifts
(`scoring.segmentation`). NaN for streams whose changes no one knows and for learners that
make no decisions about them. `jump_f1` is another measure, without the start of the series.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring import segmentation

STAGE = "run"
UNIT = "fraction"
BOUNDS = (0.0, 1.0)
HIGHER_IS_BETTER = True
REFUSES = ("counts", "blocks")
FROM = ("changes",)
BLANK = ("unknown-truth",)

MARGIN = 5


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """F1 [seed]."""
    return segmentation.scored(
        run, stream, lambda found, true: segmentation.f1(found, true, MARGIN)
    )

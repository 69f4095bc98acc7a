"""Number of changepoints of the most probable segmentation, in hindsight.

The start of the series is none. NaN for learners that make no decisions about changes.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring import segmentation

STAGE = "run"
UNIT = "changepoints"
BOUNDS = (0.0, None)
HIGHER_IS_BETTER = None
REFUSES = ("counts", "blocks")
FROM = ("changes",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Number of changepoints [seed]."""
    found = segmentation.inferred(run)
    if found is None:
        return np.full(run.sizes["seed"], np.nan)
    return found.sum(axis=1).astype(float)

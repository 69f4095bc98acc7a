"""Share of the changepoints in hindsight that are false; 0 where there are none.

See `false_changepoints`. The mean over seeds estimates the false discovery rate.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.metrics.f1 import MARGIN
from shiftbench.evaluation.scoring import segmentation

STAGE = "run"
UNIT = "fraction"
BOUNDS = (0.0, 1.0)
HIGHER_IS_BETTER = False
REFUSES = ("counts", "blocks")
FROM = ("changes",)
BLANK = ("unknown-truth",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """False discovery proportion [seed]."""
    return segmentation.scored(run, stream, _share)


def _share(found: np.ndarray, true: np.ndarray) -> float:
    return segmentation.false_changepoints(found, true, MARGIN) / max(int(found.sum()), 1)

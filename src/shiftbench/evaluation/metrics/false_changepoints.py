"""Number of changepoints in hindsight without a true one of their own within 5 steps.

True is what any annotator marked, on the values that they saw, or else a true shift
(`scoring.segmentation`). Changepoints between the same two of these values count once, so
that `n_changepoints` may be larger than false and right ones together. NaN for streams whose
changes no one knows and for learners that make no decisions about them.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.metrics.f1 import MARGIN
from shiftbench.evaluation.scoring import segmentation

STAGE = "run"
UNIT = "changepoints"
BOUNDS = (0.0, None)
HIGHER_IS_BETTER = False
REFUSES = ("counts", "blocks")
FROM = ("changes",)
BLANK = ("unknown-truth",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Number of false changepoints [seed]."""
    return segmentation.scored(
        run, stream, lambda found, true: segmentation.false_changepoints(found, true, MARGIN)
    )

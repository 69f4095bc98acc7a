"""Brier score on rows of a new segment, before anything of it is learnt.

Of all rows of the first tasks of new segments together, predicted before they are learnt: trained
on one segment, judged on the next. As `brier`.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.metrics import _referral
from shiftbench.evaluation.scoring import referral

STAGE = "run"
UNIT = "squared probability"
BOUNDS = (0.0, 1.0)
HIGHER_IS_BETTER = False
JUDGES = ("categorical",)
REQUIRES = ("shifts",)
KEEPS = ("predictions",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Score [seed]; UserError where a seed sees no shift."""
    return _referral.new_segments(run, stream, referral.brier)

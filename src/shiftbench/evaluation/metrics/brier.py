"""Brier score: mean squared distance of class probabilities and truth, on test rows.

Half of Brier's sum over classes, so that it is in [0, 1], and of two classes the distance of the
second one's probability. Of the predictions after a task, mean over tasks.
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
REQUIRES = ("tests",)
KEEPS = ("predictions",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Brier score [seed]. UserError where the test rows of a task are of one class."""
    return _referral.after_tasks(run, referral.brier)

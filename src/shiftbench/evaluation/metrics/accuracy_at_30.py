"""Accuracy on what is kept when 30 % of the test rows are referred.

As `auc_at_30`, by mutual information; of the predictions after a task, mean over tasks.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.metrics import _referral
from shiftbench.evaluation.scoring import referral

STAGE = "run"
UNIT = "fraction"
BOUNDS = (0.0, 1.0)
HIGHER_IS_BETTER = True
JUDGES = ("categorical",)
REQUIRES = ("tests",)
KEEPS = ("predictions",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Accuracy [seed]. UserError where the test rows of a task are of one class."""
    return _referral.referred(run, referral.accuracy, 0.3)

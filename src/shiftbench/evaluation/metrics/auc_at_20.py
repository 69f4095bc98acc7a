"""AUC of what is kept when 20 % of the test rows are referred.

farquhar2020radial, Table 1: referred are the rows of largest mutual information of the parameters
and the class. As `auc`, which is the same without referral. NaN where a class is missing in what is
kept of a task: nothing is left to tell it from.
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
    """AUC [seed]. UserError where the test rows of a task are of one class."""
    return _referral.referred(run, referral.auc, 0.2)

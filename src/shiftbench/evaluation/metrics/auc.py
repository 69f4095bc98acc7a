"""Area under the ROC curve of the class probabilities, on all test rows.

farquhar2020radial, Table 1, at 0 %. Of several classes the mean of each against the rest. Of the
predictions after a task on its test rows, mean over tasks.
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
    return _referral.after_tasks(run, referral.auc)

"""How well the entropy of a prediction tells which test rows are wrong.

Area under the ROC curve of the entropy for errors of the most probable class: .5 is chance. Of the
predictions after a task, mean over tasks; NaN where all rows of a task are right, or all wrong.
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
    return _referral.after_tasks(run, lambda rows: referral.ranking(rows.entropy, ~rows.correct))

"""How well entropy tells rows of a new segment from those learnt.

Area under the ROC curve for the rows of the first task of a segment, predicted before they are
learnt, against the test rows of the task before, just learnt; .5 is chance. Mean over shifts. A
learner that widens its posterior before each task is more uncertain there, shift or none.
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
REQUIRES = ("tests", "shifts")
KEEPS = ("predictions",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """AUC [seed]; NaN where a seed sees no shift."""
    return _referral.at_shifts(run, stream, lambda shift: referral.novelty(shift, "entropy"))

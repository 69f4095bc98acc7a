"""Learning accuracy: accuracy on each task just learnt, before later ones act, mean_j A[j, j].

riemer2019mer, experiments; A: see `_matrix`. With `acc` it tells a learner that forgets from one
that has not learnt.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.metrics._matrix import diagonal, mean

STAGE = "run"
UNIT = "fraction"
BOUNDS = (0.0, 1.0)
HIGHER_IS_BETTER = True
REQUIRES = ("earlier-tests",)
USES = ("accuracy",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Learning accuracy [seed]; UserError without the accuracy on earlier tasks."""
    return mean(diagonal(run))

"""Average accuracy over all tasks after the last was learnt, mean_j A[T, j].

Eq. 64 of eschenhagen2019vogn; A: see `_matrix`. For learners that forget all before each task it is
near chance by construction.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.scoring.metrics._matrix import matrix, mean

STAGE = "run"
UNIT = "fraction"
BOUNDS = (0.0, 1.0)
HIGHER_IS_BETTER = True
REQUIRES = ("earlier-tests",)
USES = ("accuracy",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """ACC [seed]; UserError without the accuracy on earlier tasks."""
    return mean(matrix(run)[:, -1])

"""Backward transfer: what later tasks did to the accuracy on earlier ones, negative: forgetting.

Eq. 65 of eschenhagen2019vogn: mean over j < T of A[T, j] - A[j, j]; A: see `_matrix`. NaN for a
single task.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.metrics._matrix import diagonal, matrix, mean

STAGE = "run"
UNIT = "fraction"
BOUNDS = (-1.0, 1.0)
HIGHER_IS_BETTER = True
REQUIRES = ("earlier-tests",)
USES = ("accuracy",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """BWT [seed]; UserError without the accuracy on earlier tasks."""
    return mean((matrix(run)[:, -1] - diagonal(run))[:, :-1])

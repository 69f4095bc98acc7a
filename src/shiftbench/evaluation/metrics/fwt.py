"""Forward transfer: accuracy on new tasks minus that of a learner that starts from scratch.

Eq. 66 of eschenhagen2019vogn: mean over j > 1 of A[j, j] - s_j, with A as in `_matrix` and s_j the
accuracy on task j, just learnt, of the study's `reference`, on the same seed and so the same
tasks. NaN for a single task, and where the study names no reference or its seed failed.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.metrics._matrix import diagonal, mean

STAGE = "run"
UNIT = "fraction"
BOUNDS = (-1.0, 1.0)
HIGHER_IS_BETTER = True
REQUIRES = ("earlier-tests",)
USES = ("accuracy",)
COMPARES = ("reference",)


def score(run: xr.Dataset, stream: xr.Dataset, reference: xr.Dataset | None) -> np.ndarray:
    """FWT [seed], of the seeds of `run`; UserError without the accuracy of each task."""
    gained = diagonal(run)
    if reference is None:
        return np.full(len(gained), np.nan)
    scratch = xr.DataArray(diagonal(reference), {"seed": reference["seed"]}, ("seed", "task"))
    return mean((gained - scratch.reindex(seed=run["seed"]).values)[:, 1:])

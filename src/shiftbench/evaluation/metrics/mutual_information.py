"""Mean mutual information of the parameters and the class, on test rows.

What of a prediction's entropy is doubt about the parameters (farquhar2020radial, D.1): the entropy
of the mean of draws, minus the mean of their entropies. 0 of point estimates. Of the predictions
after a task, mean over tasks.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.metrics import _referral

STAGE = "run"
UNIT = "nat"
BOUNDS = (0.0, None)
HIGHER_IS_BETTER = None
JUDGES = ("categorical",)
REQUIRES = ("tests",)
KEEPS = ("predictions",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Nats [seed]. UserError where the test rows of a task are of one class."""
    return _referral.after_tasks(run, lambda rows: float(rows.mutual_information.mean()))

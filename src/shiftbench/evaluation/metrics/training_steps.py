"""Steps of training of a task, on average over the tasks.

What a fit costs in numbers that are the same on every machine. Of a beam, those of one hypothesis.
NaN for learners that do not tell it.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.metrics._infos import mean_over_tasks

STAGE = "run"
UNIT = "steps per task"
BOUNDS = (0.0, None)
HIGHER_IS_BETTER = False
FROM = ("log_evidence",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Of the first hypothesis [seed]."""
    return mean_over_tasks(run, "steps")

"""The evidence lower bound of a task at the end of its training, on average over the tasks.

In nats over all rows of a task: between two hypotheses a difference of a few of them decides
whether a shift is found. To be compared between fits to the same rows with the same model, prior
and weight of the divergence. NaN for learners that do not tell it.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.metrics._infos import mean_over_tasks

STAGE = "run"
UNIT = "nats per task"
HIGHER_IS_BETTER = True
FROM = ("log_evidence",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Of the first hypothesis [seed]."""
    return mean_over_tasks(run, "elbo")

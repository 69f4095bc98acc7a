"""Number of tasks after which run length 0 is the most probable one.

As in knoblauch2018robust, 5.1 (145 for standard detection on the well-log). The first task is one
of them always. NaN for learners that keep no run lengths.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring import segmentation

STAGE = "run"
UNIT = "tasks"
BOUNDS = (0.0, None)
HIGHER_IS_BETTER = None
REFUSES = ("counts",)
FROM = ("run_length",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Number of tasks [seed]."""
    most_probable = segmentation.run_length_argmax(run)
    if most_probable is None:
        return np.full(run.sizes["seed"], np.nan)
    return (most_probable == 0).sum(axis=1).astype(float)

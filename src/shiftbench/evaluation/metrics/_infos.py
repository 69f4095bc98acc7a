"""What metrics of infos share: those that learners tell beside their states."""

from __future__ import annotations

import numpy as np
import xarray as xr


def mean_over_tasks(run: xr.Dataset, name: str) -> np.ndarray:
    """Of an info of the first hypothesis [seed], NaN where the learner does not tell it."""
    if f"info_{name}" not in run:
        return np.full(run.sizes["seed"], np.nan)
    return run[f"info_{name}"].isel(hypothesis=0).mean("task").values

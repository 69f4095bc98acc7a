"""What metrics in the units of the data share: a run's scores at the end, and the target's sd."""

from __future__ import annotations

import numpy as np
import xarray as xr


def at_end(run: xr.Dataset, metric: str) -> np.ndarray:
    """The scores [seed] of a metric after the last task."""
    if not run.sizes["seed"]:  # a run that failed as a whole may have ended before any score
        return np.empty(0)
    return run["score"].sel(metric=metric).isel(task=-1).values


def sd(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Standard deviation [seed] by which the stream has divided each seed's targets.

    1 where the stream has not scaled its targets.
    """
    if "target_sd" not in stream:
        return np.ones(run.sizes["seed"])
    return stream["target_sd"].values[run["realisation"].values.astype(int)]

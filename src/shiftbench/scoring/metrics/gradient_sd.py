"""How noisy the likelihood's gradient is after the last task: its deviation over draws.

Root mean square over the means of the posterior, for one draw on one minibatch (farquhar2020radial,
Fig. 7). NaN for learners that do not tell.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

STAGE = "run"
UNIT = "nats per parameter"
BOUNDS = (0.0, None)
HIGHER_IS_BETTER = False
FROM = ("gradients",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Of the first hypothesis [seed]."""
    if "info_gradient_sd" not in run:
        return np.full(run.sizes["seed"], np.nan)
    return run["info_gradient_sd"].isel(task=-1, hypothesis=0).values

"""How noisy the likelihood's gradient is after the last task: log10 of its deviation over draws.

Root mean square over the means of the posterior, for one draw on one minibatch (farquhar2020radial,
Fig. 7). Of deviations that are decades apart the arithmetic mean would be that of the largest.
NaN for learners that do not tell.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

STAGE = "run"
UNIT = "log10 of nats per parameter"
HIGHER_IS_BETTER = False
FROM = ("gradients",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Of the first hypothesis [seed]."""
    if "info_gradient_sd" not in run:
        return np.full(run.sizes["seed"], np.nan)
    return np.log10(run["info_gradient_sd"].isel(task=-1, hypothesis=0).values)

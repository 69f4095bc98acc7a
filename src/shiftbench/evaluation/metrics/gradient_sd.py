"""How noisy the likelihood's gradient is at the end: log10 of its deviation over draws.

Root mean square over the means of the posterior, for one draw on one minibatch (farquhar2020radial,
Fig. 7), and over the last tenth of the tasks, at least one: where a network is sure of all rows of
a minibatch, its gradient there is 0. Of seeds whose deviations are decades apart the arithmetic
mean would be that of the largest, hence the logarithm. NaN for learners that do not tell.
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
    last = -(-run.sizes["task"] // 10)
    deviations = run["info_gradient_sd"].isel(task=slice(-last, None), hypothesis=0)
    return 0.5 * np.log10((deviations**2).mean("task").values)

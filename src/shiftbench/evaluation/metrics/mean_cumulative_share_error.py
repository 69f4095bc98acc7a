"""Mean over time of the mean `share_error` so far: the mean cumulative absolute error of li2021vbs.

Early errors weigh more than in a plain mean. The first task counts for nothing, as in the authors'
public code: nothing has been learnt before it.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

STAGE = "run"
UNIT = "share"
BOUNDS = (0.0, 1.0)
HIGHER_IS_BETTER = False
TAKES = ("number",)
REQUIRES = ("log-odds",)
USES = ("share_error",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """The mean of the running means [seed]."""
    errors = run["score"].sel(metric="share_error").transpose("seed", "task").values[:, 1:]
    return (errors.cumsum(axis=1) / np.arange(1, errors.shape[1] + 1)).mean(axis=1)

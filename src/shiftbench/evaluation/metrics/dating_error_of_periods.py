"""Distance between the period that a period's held-out text is dated to, and its own.

As dating_error, but all held-out documents of a period are one; the mean over periods.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring.words import dating

STAGE = "run"
UNIT = "periods"
BOUNDS = (0.0, None)
HIGHER_IS_BETTER = False
TAKES = ("counts",)
REQUIRES = ("held-out",)
FROM = ("context", "mean")


def score(run: xr.Dataset, stream: xr.DataTree) -> np.ndarray:
    """Periods [seed]."""
    each = (dating.scores(run, stream, seed) for seed in range(run.sizes["seed"]))
    return np.array([dating.mean_error(*dating.by_period(*one)) for one in each])

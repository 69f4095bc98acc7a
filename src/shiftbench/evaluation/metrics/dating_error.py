"""Distance between the period that a held-out document is dated to, and its own.

li2021vbs, Fig. 5; the mean over documents. NaN for streams that hold none out.
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
    return np.array([dating.mean_error(*one) for one in each])

"""Share of the inferred shifts that are true ones, at exactly their task.

Of the most likely hypothesis at the end of the stream, in hindsight, per seed. A seed for
which no shift was inferred has no precision: it is NaN and left out of the mean, whose n
is smaller then; the recall of that seed is 0, so read both. NaN for learners that make no
decisions about shifts.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring import shift_matching

STAGE = "run"
UNIT = "fraction"
BOUNDS = (0.0, 1.0)
HIGHER_IS_BETTER = True
REQUIRES = ("shifts",)
REFUSES = ("counts", "blocks")
FROM = ("changes",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Precision [seed]."""
    counts = shift_matching.counts(run, stream, margin=0)
    if counts is None:
        return np.full(run.sizes["seed"], np.nan)
    return shift_matching.ratio(counts.matched, counts.inferred)

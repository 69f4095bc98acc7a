"""F1 of the inferred jumps, matched one to one with the true ones within one step.

2 matched / (inferred + true), of the most likely hypothesis at the end of the stream, per
seed. The mean over seeds is the mean of these and so has an interval; the F1 of the counts
summed over all seeds is a different, as a rule larger, number. A seed with true jumps and
none inferred scores 0; NaN where there are neither, and for learners that make no
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

MARGIN = 1


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """F1 [seed]."""
    counts = shift_matching.counts(run, stream, MARGIN)
    return np.full(run.sizes["seed"], np.nan) if counts is None else f1(counts)


def f1(counts: shift_matching.Counts) -> np.ndarray:
    """F1 [seed] from the numbers of matched, inferred and true jumps."""
    return shift_matching.ratio(2 * counts.matched, counts.inferred + counts.true)

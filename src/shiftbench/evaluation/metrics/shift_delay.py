"""How many tasks later a true shift is placed, mean over those that are found.

By the most likely hypothesis at the end of the stream, in hindsight, per seed. A shift is found if
that hypothesis has one at its task or later, before the next true shift; the first such counts
(`scoring.detection`). NaN for a seed in which none is found, and for learners that make no
decisions about shifts. A delay of few found shifts says little: read it beside recall.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring import detection, segmentation, shift_matching

STAGE = "run"
UNIT = "tasks"
BOUNDS = (0.0, None)
HIGHER_IS_BETTER = False
REQUIRES = ("shifts",)
REFUSES = ("counts", "blocks")
FROM = ("changes",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Mean delay [seed]."""
    inferred = segmentation.inferred(run)
    if inferred is None:
        return np.full(run.sizes["seed"], np.nan)
    pairs = zip(inferred, shift_matching.truth(run, stream), strict=True)
    each = [detection.delays(*pair) for pair in pairs]
    found = [one[np.isfinite(one)] for one in each]
    return np.array([one.mean() if len(one) else np.nan for one in found], float)

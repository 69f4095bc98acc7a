"""Brier score of the probability that a task began with a shift, as held at the end.

As `shift_brier`, of what the hypotheses at the end say of each task, by their weights. NaN for
learners whose hypotheses do not know their history, such as run lengths.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring import shift_matching, shift_probabilities

STAGE = "run"
UNIT = "squared probability"
BOUNDS = (0.0, 1.0)
HIGHER_IS_BETTER = False
REQUIRES = ("shifts",)
REFUSES = ("counts", "blocks")
FROM = ("lineage",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Brier score [seed]."""
    true = shift_matching.truth(run, stream)[:, 1:]
    return shift_probabilities.brier(shift_probabilities.smoothed(run), true)

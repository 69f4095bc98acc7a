"""Brier score of the probability that a task began with a shift, as held right after it.

The mean squared difference of probability and truth over tasks but the first, per seed: 0 is
perfect, and the base rate b of shifts, said of every task, has b (1 - b). What the probability is
of beams and of run lengths: `scoring.shift_probabilities`. NaN for learners that give none.
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
FROM = ("changes",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Brier score [seed]."""
    true = shift_matching.truth(run, stream)[:, 1:]
    return shift_probabilities.brier(shift_probabilities.filtered(run), true)

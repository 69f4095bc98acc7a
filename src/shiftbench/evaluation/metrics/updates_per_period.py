"""How many words are updated in a period: the rate of li2021vbs, Fig. 5.

Changes in the most likely hypothesis of each word at the end, on average over the periods
after the first. All words for a learner that makes no decisions about changes: each period has
vectors of its own.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring.words import trajectories

STAGE = "run"
UNIT = "words"
BOUNDS = (0.0, None)
HIGHER_IS_BETTER = False
TAKES = ("counts",)


def score(run: xr.Dataset, stream: xr.DataTree) -> np.ndarray:
    """Words per period [seed]."""
    return trajectories.updates_per_period(run)

"""F1 of the inferred changes of words, matched with the planted ones within one period.

2 matched / (inferred + planted), pooled over words, per seed. NaN for streams whose changes no
one knows and for learners that make no decisions about them.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.metrics import _word_changes
from shiftbench.evaluation.scoring import shift_matching

STAGE = "run"
UNIT = "fraction"
BOUNDS = (0.0, 1.0)
HIGHER_IS_BETTER = True
TAKES = ("counts",)
REQUIRES = ("planted",)
FROM = ("lineage",)


def score(run: xr.Dataset, stream: xr.DataTree) -> np.ndarray:
    """F1 [seed]."""
    found = _word_changes.counts(run, stream)
    if found is None:
        return np.full(run.sizes["seed"], np.nan)
    return shift_matching.ratio(2 * found.matched, found.inferred + found.true)

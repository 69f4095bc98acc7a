"""What the metrics of planted changes of words share: matches with the truth."""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring.shift_matching import Counts, count_matched
from shiftbench.evaluation.scoring.words import trajectories

MARGIN = 1
"""Periods that an inferred change may be off."""


def counts(run: xr.Dataset, stream: xr.DataTree) -> Counts | None:
    """Changes of all words, matched one to one with the planted ones of the same word.

    Of the most likely hypothesis of each word at the end, in hindsight. None for streams whose
    changes no one knows, and for learners that make no decisions about them.
    """
    found = trajectories.shifts(run)
    if found is None or "changed" not in stream.dataset:
        return None
    true = stream.dataset["changed"].values[run["realisation"].values.astype(int)].astype(bool)
    matched = [
        sum(count_matched(a, b, MARGIN) for a, b in zip(one.T, other.T, strict=True))
        for one, other in zip(found, true, strict=True)
    ]
    return Counts(np.array(matched, int), found.sum(axis=(1, 2)), true.sum(axis=(1, 2)))

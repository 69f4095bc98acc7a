"""True shifts that a history detects, their delays, and its false alarms.

A history has found a true shift if it places a shift of its own at its task or later, but before
the next true shift (or the end). The first such is the find, its delay the number of tasks from
the true shift to it. All others, before the first true shift or after a find, are false alarms.
So a false alarm in a segment whose shift was missed counts as a late find of it.
"""

from __future__ import annotations

import numpy as np


def delays(inferred: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Return the tasks from each true shift to its find [shift]; NaN where it is missed.

    inferred, true: [task] bool, of one seed.
    """
    starts = np.flatnonzero(true)
    segments = np.split(inferred, starts)[1:]
    return np.array([one.argmax() if one.any() else np.nan for one in segments], float)


def false_alarms(inferred: np.ndarray, true: np.ndarray) -> int:
    """Return the number of inferred shifts, [task] bool of one seed, that find no true one."""
    return int(inferred.sum() - np.isfinite(delays(inferred, true)).sum())

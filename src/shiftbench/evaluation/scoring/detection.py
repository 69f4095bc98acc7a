"""True shifts that a history detects, their delays, and its false alarms.

A history has found a true shift if it has a shift at that task or later, but before the next true
shift (or the end). The first such shift is the find. Its delay is the number of tasks since the
true shift. All other shifts, before the first true shift or after a find, are false alarms. So a
false alarm in a segment whose shift was missed counts as a late find.
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

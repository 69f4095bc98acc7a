"""Who is worse than a leader, by SciPy's paired t tests and Holm's correction over all pairs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy import stats

ROUNDING = 1e-12
"""Range of differences over seeds below which they have no spread, and no test."""


def worse(best, others):
    """Return whether each of the others differs significantly from the best, scores [seed]."""
    p = {}
    for pair in combinations(range(1 + len(others)), 2):
        one, other = (np.asarray([best, *others][place], float) for place in pair)
        known = (one - other)[~np.isnan(one - other)]
        if len(known) > 1 and np.ptp(known) > ROUNDING:
            p[pair] = stats.ttest_1samp(known, 0).pvalue
    found = set()
    for count, pair in zip(range(len(p), 0, -1), sorted(p, key=p.get), strict=True):
        if count * p[pair] >= 0.05:
            break
        found.add(pair)
    return np.array([(0, place) in found for place in range(1, 1 + len(others))])

"""Comparisons of each learner of a stream with the next in the ranking, paired by seed."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from shiftbench.evaluation.scoring import comparison, ranking, statistics
from shiftbench.evaluation.scoring.comparison import ALPHA, Comparison


class Pair(NamedTuple):
    """A learner minus the next one; p: corrected by Holm's method over the pairs of the stream."""

    better: str
    worse: str
    compared: Comparison
    p: float

    @property
    def resolved(self) -> bool:
        """True for a significant difference."""
        return self.p < ALPHA


def pairs(scores: Mapping[str, np.ndarray], metric: str) -> list[Pair]:
    """Compare neighbours in the ranking by the mean of their scores [seed], best first.

    Learners without a score are left out. The region of practical equivalence is that of the mean
    over learners.
    """
    ranked = ranking.best_first(scores, metric)
    if not ranked:
        return []
    within = statistics.bounds(metric)
    size = ranking.region(metric, np.mean([np.nanmean(values) for values in ranked.values()]))
    names = list(pairwise(ranked))
    compared = [
        comparison.compare(ranked[better], ranked[worse], size, within) for better, worse in names
    ]
    corrected = comparison.corrected([one.p for one in compared])
    return [
        Pair(better, worse, one, float(p))
        for (better, worse), one, p in zip(names, compared, corrected, strict=True)
    ]

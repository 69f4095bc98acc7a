"""Comparisons of each method of a stream with the next in the ranking, paired by seed."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from shiftbench.evaluation.scoring import comparison, ranking
from shiftbench.evaluation.scoring.comparison import ALPHA, Comparison


class Pair(NamedTuple):
    """A method minus the next one; p: corrected by Holm's method over the pairs of the stream.

    upwards: whether a difference above 0 is in favour of the first.
    """

    better: str
    worse: str
    compared: Comparison
    p: float
    upwards: bool = True

    @property
    def resolved(self) -> bool:
        """True if the first method is significantly better.

        Where seeds failed, the mean of each over its own seeds and that of the differences over
        common seeds may have different signs; this is then False.
        """
        favours = (self.compared.difference.mean > 0) == self.upwards
        return self.p < ALPHA and favours


def pairs(scores: Mapping[str, np.ndarray], metric: str | ranking.Scale) -> list[Pair]:
    """Compare neighbours in the ranking by the mean of their scores [seed], best first.

    Learners without a score are left out. The region of practical equivalence is that of the mean
    over methods.
    """
    ranked = ranking.best_first(scores, metric)
    if not ranked:
        return []
    within = ranking.scale(metric).bounds
    size = ranking.region(metric, np.mean([np.nanmean(values) for values in ranked.values()]))
    names = list(pairwise(ranked))
    compared = [
        comparison.compare(ranked[better], ranked[worse], size, within) for better, worse in names
    ]
    corrected = comparison.corrected([one.p for one in compared])
    return [
        Pair(better, worse, one, float(p), bool(ranking.higher_is_better(metric)))
        for (better, worse), one, p in zip(names, compared, corrected, strict=True)
    ]

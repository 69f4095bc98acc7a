"""Rankings of methods on a stream: the leader, and the methods that it significantly leads.

The leader is the method with the best mean score. Every other one is compared with it seed by
seed (paired t test). Since the same scores choose the leader, Holm's correction is over all pairs
of methods of the stream. Those that do not differ significantly share its lead; without any, the
lead is resolved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np

from shiftbench.config import components
from shiftbench.evaluation.scoring import comparison, statistics
from shiftbench.evaluation.scoring.comparison import ALPHA, Comparison
from shiftbench.evaluation.scoring.statistics import Bounds, Interval

FRACTIONS, OTHERS = 0.01, 0.01
"""Region of practical equivalence: for fractions, and for other units as a share of the mean."""


class Scale(NamedTuple):
    """The direction, unit and bounds of a metric; no direction where neither is better."""

    higher_is_better: bool | None
    unit: str
    bounds: Bounds


class Lead(NamedTuple):
    """The leader against another method, upwards where the leader is better; p: corrected.

    The difference is over common seeds. Where seeds failed, it may be below 0.
    """

    over: Comparison
    p: float

    @property
    def resolved(self) -> bool:
        """True if the leader is significantly better."""
        return self.p < ALPHA and self.over.difference.mean > 0


class PairedLead(NamedTuple):
    """One method minus another, which it need not lead: the difference and the corrected p."""

    difference: Interval
    p: float

    @property
    def resolved(self) -> bool:
        """True if the first method is significantly better."""
        return self.p < ALPHA and self.difference.mean > 0


class StreamRanking(NamedTuple):
    """The ranking on one stream.

    scores: [seed] by method, best mean first. leads: of the leader over each other method.
    """

    stream: str
    scores: dict[str, np.ndarray]
    leads: dict[str, Lead]

    @property
    def leader(self) -> str | None:
        """The method with the best mean; None where none has a score."""
        return next(iter(self.scores), None)

    @property
    def tied(self) -> list[str]:
        """The others that do not differ significantly from the leader, best first."""
        return [name for name, lead in self.leads.items() if not lead.resolved]

    @property
    def untested(self) -> str:
        """Why no method could be tested against another; empty if one could."""
        return comparison.untested(self.scores.values()) if self.leads else ""

    @property
    def resolved(self) -> bool:
        """True if the leader differs significantly from every other method."""
        return bool(self.leads) and not self.tied


def leading_metric(metrics: Iterable[str], scales: Mapping[str, Scale] | None = None) -> str | None:
    """Return the metric to rank by: `acc`, else the first with a direction, else None.

    scales: of metrics that the library need not know.
    """
    names, scales = list(metrics), scales or {}
    directed = (one for one in names if higher_is_better(scales.get(one, one)) is not None)
    return "acc" if "acc" in names else next(directed, None)


def scale(metric: str | Scale) -> Scale:
    """Return the scale of a metric of the library; a scale as it is."""
    if isinstance(metric, Scale):
        return metric
    row = components.metric(metric)
    return Scale(row.higher_is_better, row.unit, row.bounds)


def higher_is_better(metric: str | Scale) -> bool | None:
    """Return whether a higher score is better; None where neither higher nor lower is."""
    return scale(metric).higher_is_better


def best_first(scores: Mapping[str, np.ndarray], metric: str | Scale) -> dict[str, np.ndarray]:
    """Return the scores [seed] of the methods that have some, best mean first."""
    scored = {name: values for name, values in scores.items() if not np.isnan(values).all()}
    sign = -1 if higher_is_better(metric) else 1
    return dict(sorted(scored.items(), key=lambda item: sign * np.nanmean(item[1])))


def region(metric: str | Scale, mean: float) -> float:
    """Return half the width of the region of practical equivalence of scores around a mean."""
    return FRACTIONS if scale(metric).unit == "fraction" else OTHERS * abs(float(mean))


def better(metric: str, first: np.ndarray, second: np.ndarray) -> Comparison:
    """Compare scores [seed] so that the difference is above 0 where the first is better."""
    pair = _upwards(metric, first, second)
    size = region(metric, np.nanmean(pair))
    return comparison.compare(*pair, size, statistics.bounds(metric))


def advantage(metric: str, first: np.ndarray, second: np.ndarray) -> Interval:
    """Return how much better `first` is than `second`, scores [seed] each, paired by seed."""
    return statistics.paired_difference(*_upwards(metric, first, second), statistics.bounds(metric))


def rank(stream: str, scores: Mapping[str, np.ndarray], metric: str) -> StreamRanking:
    """Rank the methods on a stream by their scores [seed]."""
    ranked = best_first(scores, metric)
    if not ranked:
        return StreamRanking(stream, {}, {})
    return StreamRanking(stream, ranked, leads_of_first(ranked, partial(better, metric)))


def leads_of_first(
    scores: Mapping[str, np.ndarray], compare: Callable[[np.ndarray, np.ndarray], Comparison]
) -> dict[str, Lead]:
    """Return the lead of the first method over each other one, by scores [seed], best first.

    compare: two methods, so that the difference is above 0 where the first is better.
    """
    pairs = {pair: compare(*map(scores.__getitem__, pair)) for pair in combinations(scores, 2)}
    corrected = comparison.corrected([one.p for one in pairs.values()])
    first = next(iter(scores))
    return {
        other: Lead(one, float(p))
        for ((leader, other), one), p in zip(pairs.items(), corrected, strict=True)
        if leader == first
    }


def _upwards(metric: str, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Order two scores so that their difference is above 0 where the first is better."""
    return (first, second) if higher_is_better(metric) else (second, first)

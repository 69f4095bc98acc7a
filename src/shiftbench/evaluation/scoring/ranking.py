"""Who leads on a stream, and whom the seeds can tell from the leader.

The leader is the learner with the best mean score, and every other one is compared with it, seed
by seed (paired t test, Holm's method over the others of the stream). Those that are not resolved
share its lead; where there are none, the lead is resolved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from shiftbench.config import components
from shiftbench.evaluation.scoring import comparison, statistics
from shiftbench.evaluation.scoring.comparison import ALPHA, Comparison

FRACTIONS, OTHERS = 0.01, 0.01
"""The region of practical equivalence: of fractions, and as a share of the mean score of others."""


class Lead(NamedTuple):
    """The leader over another learner: difference, positive, and its corrected p."""

    over: Comparison
    p: float

    @property
    def resolved(self) -> bool:
        """Whether the seeds tell the two apart."""
        return self.p < ALPHA


class Cell(NamedTuple):
    """Who leads on one stream. scores [seed], best mean first; leads: over each of the others."""

    stream: str
    scores: dict[str, np.ndarray]
    leads: dict[str, Lead]

    @property
    def leader(self) -> str | None:
        """The learner with the best mean; None where none has a score."""
        return next(iter(self.scores), None)

    @property
    def tied(self) -> list[str]:
        """The others that the seeds do not tell apart from the leader, best first."""
        return [name for name, lead in self.leads.items() if not lead.resolved]

    @property
    def resolved(self) -> bool:
        """Whether the leader is told apart from every other learner."""
        return bool(self.leads) and not self.tied


def metric(known: Iterable[str]) -> str | None:
    """What learners are ranked by, of these metrics: `acc`, else the first of which more or less
    is better; None without such."""
    names = list(known)
    directed = (one for one in names if higher_is_better(one) is not None)
    return "acc" if "acc" in names else next(directed, None)


def higher_is_better(metric: str) -> bool | None:
    """Whether more of a metric is better; None where neither more nor less is."""
    return components.metric(metric).higher_is_better


def best_first(scores: Mapping[str, np.ndarray], metric: str) -> dict[str, np.ndarray]:
    """Scores [seed] of the learners that have some, best mean first."""
    known = {name: values for name, values in scores.items() if not np.isnan(values).all()}
    sign = -1 if higher_is_better(metric) else 1
    return dict(sorted(known.items(), key=lambda item: sign * np.nanmean(item[1])))


def region(metric: str, mean: float) -> float:
    """Half the width of the region of practical equivalence, of scores around a mean."""
    of_fraction = components.metric(metric).unit == "fraction"
    return FRACTIONS if of_fraction else OTHERS * abs(float(mean))


def better(metric: str, one: np.ndarray, other: np.ndarray) -> Comparison:
    """How much better one learner is than another, [seed] each, in the metric's unit."""
    pair = upwards(metric, one, other)
    size = region(metric, np.nanmean(pair))
    return comparison.compare(*pair, size, statistics.bounds(metric))


def upwards(metric: str, one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two scores in the order in which their difference is above 0 where the first is better."""
    return (one, other) if higher_is_better(metric) else (other, one)


def cell(stream: str, scores: Mapping[str, np.ndarray], metric: str) -> Cell:
    """Who leads on a stream, of scores [seed] by learner."""
    ranked = best_first(scores, metric)
    if not ranked:
        return Cell(stream, {}, {})
    leader, *others = ranked
    found = [better(metric, ranked[leader], ranked[other]) for other in others]
    p = comparison.corrected([each.p for each in found])
    leads = {
        other: Lead(each, float(corrected))
        for other, each, corrected in zip(others, found, p, strict=True)
    }
    return Cell(stream, ranked, leads)

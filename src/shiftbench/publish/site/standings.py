"""Ranks of the methods of a study by its leading metric, and the differences that seeds resolve.

Learners whose method is a bound (it is given what others are not) are shown but not ranked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from shiftbench.config import metric_words
from shiftbench.config.compatibility_words import listed
from shiftbench.evaluation.scoring import comparison, ranking
from shiftbench.evaluation.scoring.ranking import StreamRanking
from shiftbench.publish.site import numbers
from shiftbench.publish.site.collect import SiteStudy

NAMED, LEADING = 3, 4
"""Largest numbers of tied methods, and of others that lead on some streams, that are named."""
BEST, TIED, UNCLEAR, BEHIND = "best", "as good", "unclear", "behind"
UNKNOWN, BOUND = "not compared", "bound"


class Standing(NamedTuple):
    """Standing of a method: mean rank over streams, number of ranks, and state.

    Methods with equal means on a stream share the mean of their ranks.
    state, by the paired comparisons with the best over seeds: TIED where the difference is not
    significant and more likely than not of no practical importance (`ranking.region`), UNCLEAR
    where it is not significant but may be large, BEHIND where it is significant; or BOUND.
    """

    rank: float
    of: int
    state: str

    @property
    def shown(self) -> str:
        """The rank in two digits; empty without a rank."""
        return "" if np.isnan(self.rank) else f"{self.rank:.2g}"


class Standings(NamedTuple):
    """Standings in a study.

    metric: the leading metric, None without one; cells: the ranking on each stream, without bounds;
    bounds: the methods that are not ranked.
    """

    metric: str | None
    cells: Mapping[str, StreamRanking]
    bounds: list[str]

    def on_stream(self, stream: str) -> Standings:
        """Return the standings on one stream alone."""
        cell = self.cells.get(stream)
        return self._replace(cells={stream: cell} if cell else {})

    def of_method(self, method: str) -> Standing:
        """Return the standing of a method over all streams."""
        if method in self.bounds:
            return Standing(np.nan, 0, BOUND)
        having = [cell for cell in self.cells.values() if method in cell.scores]
        if not having:
            return Standing(np.nan, 0, UNKNOWN)
        assert self.metric is not None
        ranks = [_ranks(cell, self.metric)[method] for cell in having]
        most = max(len(cell.scores) for cell in having)
        return Standing(float(np.mean(ranks)), most, _state(method, having))


def of(study: SiteStudy, metric: str | None = None) -> Standings:
    """Return the standings of a study by a metric.

    If the metric is None or not one of the study's, `ranking.leading_metric` chooses it.
    """
    marked = {name for name, planned in study.planned.methods.items() if planned.bound}
    bounds = [name for name in study.methods if name in marked]
    metric = metric if metric in study.metrics else ranking.leading_metric(study.metrics)
    if metric is None:
        return Standings(None, {}, bounds)
    cells = {}
    for stream in study.streams:
        scores = study.by_seed(stream, metric)
        ranked = {name: values for name, values in scores.items() if name not in bounds}
        cells[stream] = ranking.rank(stream, ranked, metric)
    return Standings(metric, cells, bounds)


def finding(study: SiteStudy, standings: Standings) -> str:
    """Return the result of a study in one sentence, from the scores alone."""
    cells = [cell for cell in standings.cells.values() if cell.scores]
    if standings.metric is None or not cells:
        return "No metric here says which method is better; the tables say what was measured."
    if len(cells) > 1:
        sentence = _over_streams(study, standings.metric, cells)
    else:
        sentence = _on_one(study, standings.metric, cells[0])
    several = any(cell.leads for cell in cells)
    notes = ["settings not tuned alike"] if several and study.planned.tuning is None else []
    if standings.bounds:
        notes.append(f"{listed(map(study.label, standings.bounds))} not ranked")
    note = "; ".join(notes)
    return f"{sentence}{f' ({note})' if note else ''}."


def ranks_of(means: Sequence[float], metric: str) -> list[float]:
    """Return the rank of each mean, 1 for the best; equal means share the mean of their ranks."""
    sign = -1 if ranking.higher_is_better(metric) else 1
    return rankdata(sign * np.array(means)).tolist()


def _ranks(cell: StreamRanking, metric: str) -> dict[str, float]:
    means = [float(np.nanmean(values)) for values in cell.scores.values()]
    return dict(zip(cell.scores, ranks_of(means, metric), strict=True))


def _on_one(study: SiteStudy, metric: str, cell: StreamRanking) -> str:
    best = cell.leader
    assert best is not None
    number = numbers.row_text(study, cell.stream, best, metric)
    words = metric_words.words(metric)
    if len(cell.scores) == 1:
        return f"{study.label(best)} on {cell.stream}: {words} {number}"
    equal = _leaders(cell)
    if len(equal) > 1:
        names = f"{len(equal)} methods" if len(equal) > NAMED else listed(map(study.label, equal))
        return (
            f"On {cell.stream}, {names} share the best {words} of {len(cell.scores)} methods"
            f" ({number})"
        )
    opening = (
        f"On {cell.stream}, {study.label(best)} has the best {words} of {len(cell.scores)} methods"
        f" ({number})"
    )
    return f"{opening}, {resolved(study, cell)}"


def resolved(study: SiteStudy, cell: StreamRanking) -> str:
    """Return the words on the methods that the seeds resolve from the leader of a stream."""
    seeds = min(int((~np.isnan(values)).sum()) for values in cell.scores.values())
    if study.scores is None:
        return "which is compared with none, since these results have no scores.csv"
    if seeds < 2:
        return "which one seed cannot compare with others"
    if cell.untested:
        return "which is tested against none, since all seeds give the same scores"
    tied = [study.label(name) for name in cell.tied]
    if not tied:
        return f"significantly better than all others over {seeds} seeds"
    if len(tied) == len(cell.leads):
        return f"not significantly better than any other over {seeds} seeds"
    names = listed(tied) if len(tied) <= NAMED else f"{len(tied)} others"
    return f"significantly better than all but {names} over {seeds} seeds"


def _over_streams(study: SiteStudy, metric: str, cells: list[StreamRanking]) -> str:
    best = Counter(study.label(name) for cell in cells for name in _leaders(cell))
    words = metric_words.words(metric)
    (first, times), *others = best.most_common()
    if not any(cell.leads for cell in cells):
        means = [float(np.nanmean(cell.scores[cell.leader])) for cell in cells if cell.leader]
        low, high = (numbers.text(metric, value) for value in (min(means), max(means)))
        return f"{first} on {len(cells)} streams: {words} from {low} to {high}"
    also = [f"{name} on {count}" for name, count in others]
    more = "" if not also else f", {listed(also)}"
    if len(also) > LEADING:
        more = f", {len(also)} others on the rest"
    shared = sum(len(_leaders(cell)) > 1 for cell in cells)
    equal = f" ({shared} with equal scores count for each)" if shared else ""
    opening = f"{first} has the best {words} on {times} of {len(cells)} streams{more}{equal}"
    if not any(len(values) > 1 for cell in cells for values in cell.scores.values()):
        return f"{opening}; one seed cannot compare methods"
    tested = [cell for cell in cells if cell.leads and cell.untested != comparison.ALIKE]
    if not tested:
        return f"{opening}; nothing is tested, since all seeds give the same scores"
    clear = sum(cell.resolved for cell in cells)
    where = {0: "none", len(cells): "all"}.get(clear, str(clear))
    copies = sum(cell.untested == comparison.ALIKE for cell in cells)
    note = f", and untested on {copies}, where all seeds give the same scores" if copies else ""
    return f"{opening}; the best is significantly better than all others on {where} of them{note}"


def _leaders(cell: StreamRanking) -> list[str]:
    """Return the methods with the best mean on a stream: several where their scores are equal."""
    if cell.leader is None:
        return []
    best = cell.scores[cell.leader]
    return [name for name, values in cell.scores.items() if np.array_equal(values, best, True)]


def _state(method: str, cells: list[StreamRanking]) -> str:
    """Return the state of a method on the streams that have it."""
    if all(cell.leader == method for cell in cells):
        return BEST
    if all(method in _leaders(cell) for cell in cells):
        return TIED
    leads = [cell.leads[method] for cell in cells if method in cell.leads]
    if any(lead.resolved for lead in leads):
        return BEHIND
    compared = [lead for lead in leads if not np.isnan(lead.p)]
    if not compared:
        return UNKNOWN
    return TIED if all(lead.over.equivalent >= 0.5 for lead in compared) else UNCLEAR

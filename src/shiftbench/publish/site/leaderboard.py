"""The leaderboard: methods of others beside ours, on our streams.

A ranked entry is verified, got the same information as ours, and was tuned with as many trials
on as many seeds. Other entries show the reason in place of a rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from shiftbench.config import specs
from shiftbench.evaluation.scoring import ranking, statistics
from shiftbench.publish.leaderboard_entries import Conditions, Entry
from shiftbench.publish.site import numbers
from shiftbench.publish.site.collect import SiteResults, SiteStudy
from shiftbench.publish.site.standings import BOUND, Standings, ranks_of

OURS = ""
"""Source of the methods of this site."""


class Line(NamedTuple):
    """A row of a board: a method on a stream.

    source: the crate of an entry, empty for our methods. rank: 0 without one; reason: why.
    Equal means share the mean of their ranks. trials: of settings. seeds: with a score.
    """

    source: str
    label: str
    rank: float
    reason: str
    number: str
    mean: float
    seeds: int
    trials: int


class StreamBoard(NamedTuple):
    """A stream of one of our studies on which others have results, best first."""

    study: SiteStudy
    stream: str
    metric: str
    lines: list[Line]


def boards(
    results: SiteResults, known: Mapping[str, Standings], entries: Sequence[Entry]
) -> tuple[list[StreamBoard], list[Entry]]:
    """Return a board for each stream that entries share with our studies, and the other entries."""
    made, placed = [], set()
    for study in results.studies:
        metric = known[study.place].metric
        for stream in study.streams if metric else ():
            ours = _settings(study, stream)
            alike = [
                one for one in entries if one.conditions.stream in {own.stream for own in ours}
            ]
            placed |= {id(one) for one in alike}
            if alike:
                made.append(_board(study, stream, str(metric), known[study.place], ours, alike))
    return made, [one for one in entries if id(one) not in placed]


def _settings(study: SiteStudy, stream: str) -> set[Conditions]:
    """Return the information that our methods were given in a study."""
    plan = study.plan.config
    if stream not in study.planned.streams:
        return set()
    code, block = specs.stream(plan, stream)["code"], plan.blocks(study.name)[0]
    runs = (specs.run(plan, study.name, stream, one, block) for one in study.planned.methods)
    return {Conditions.of(run, code) for run in runs}


def _board(
    study: SiteStudy,
    stream: str,
    metric: str,
    standings: Standings,
    ours: set[Conditions],
    entries: Sequence[Entry],
) -> StreamBoard:
    seeds = _seeds(study, stream, metric)
    lines = [
        _line(
            metric,
            OURS,
            study.label(name),
            BOUND if name in standings.bounds else "",
            values,
            _trials(study),
        )
        for name, values in study.by_seed(stream, metric).items()
    ]
    lines += [
        _line(
            metric,
            one.crate,
            f"{one.study}/{one.method}",
            _reason(study, metric, ours, seeds, one),
            _scores(one, metric, seeds),
            one.trials,
        )
        for one in entries
    ]
    sign = -1 if ranking.higher_is_better(metric) else 1
    lines.sort(key=lambda line: (line.reason != "", np.nan_to_num(sign * line.mean, nan=np.inf)))
    ranks = ranks_of([line.mean for line in lines if not line.reason], metric)
    ranked = [line._replace(rank=rank) for line, rank in zip(lines, ranks, strict=False)]
    return StreamBoard(study, stream, metric, [*ranked, *lines[len(ranked) :]])


def _line(
    metric: str, source: str, label: str, reason: str, values: np.ndarray, trials: int
) -> Line:
    """Without its rank."""
    of_seeds = statistics.interval(values, statistics.bounds(metric))
    row = {"mean": of_seeds.mean, "ci_low": of_seeds.low, "ci_high": of_seeds.high}
    number = numbers.with_interval(metric, row)
    why = reason or ("" if of_seeds.n else "no score")
    return Line(source, label, 0, why, number, of_seeds.mean, of_seeds.n, trials)


def _reason(
    study: SiteStudy, metric: str, ours: set[Conditions], seeds: list[int], entry: Entry
) -> str:
    """Return why an entry has no rank beside our methods; empty if it has one."""
    return entry.problem or next(_unlike(study, metric, ours, seeds, entry), "")


def _unlike(
    study: SiteStudy, metric: str, ours: set[Conditions], seeds: list[int], entry: Entry
) -> Iterator[str]:
    if entry.conditions.protocol not in {one.protocol for one in ours}:
        yield "another protocol: it gets other information on the stream than ours"
    if entry.conditions.model not in {one.model for one in ours} | {"null"}:
        yield "another network than ours"
    if metric not in entry.scores:
        yield f"its study has no {metric}"
        return
    if lacking := [one for one in seeds if one not in entry.scores[metric].dropna()]:
        yield f"no score of {len(lacking)} of our {len(seeds)} seeds"
    if entry.trials != (wanted := _trials(study)):
        tried = f"tuned with {entry.trials} trials" if entry.trials else "not tuned"
        yield f"{tried}; ours with {wanted}" if wanted else f"{tried}; ours not"


def _scores(entry: Entry, metric: str, seeds: list[int]) -> np.ndarray:
    """Return the scores of an entry on our seeds, or on all its seeds if it has others."""
    if metric not in entry.scores:
        return np.array([np.nan])
    known = entry.scores[metric].dropna()
    shared = known[known.index.isin(seeds)]
    return (shared if len(shared) else known).to_numpy(float)


def _seeds(study: SiteStudy, stream: str, metric: str) -> list[int]:
    """Return the seeds for which any of our methods has a score."""
    if study.scores is None:
        return []
    rows = study.scores[(study.scores["stream"] == stream) & (study.scores["metric"] == metric)]
    return sorted(rows.loc[rows["score"].notna(), "seed"].unique().tolist())


def _trials(study: SiteStudy) -> int:
    return study.planned.tuning.trials if study.planned.tuning else 0

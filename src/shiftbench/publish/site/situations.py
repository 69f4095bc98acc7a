"""Situations of docs/situations.yaml that studies of the site decide, and what leads in them."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatch
from typing import NamedTuple

from shiftbench.core import checkout
from shiftbench.evaluation.scoring.ranking import StreamRanking
from shiftbench.publish.derived import which_method
from shiftbench.publish.derived.evidence import Scores
from shiftbench.publish.derived.which_method import Line, Situation
from shiftbench.publish.site.collect import SiteResults, SiteStudy

HEAD = which_method.HEAD


class Decided(NamedTuple):
    """A situation with its study; streams: those that count. The rest is as of `which_method`."""

    entry: Situation
    study: SiteStudy
    streams: list[str]
    judged: str
    lines: list[Line]
    rankings: list[StreamRanking]

    @property
    def best(self) -> list[str | None]:
        """The method of the library that is best in each line, if it is one of the library's."""
        return [
            self.study.library_method(one.leader) if one.leader else None for one in self.rankings
        ]


def of(results: SiteResults) -> list[Decided]:
    """Return the situations whose study is among the results, in the order of the file."""
    by_place: Mapping[str, SiteStudy] = {study.place: study for study in results.studies}
    return [
        _decided(one, by_place[one.study])
        for one in which_method.load(checkout.HOME)
        if one.study in by_place and _streams(one, by_place[one.study])
    ]


def metrics() -> dict[str, str]:
    """Return the metric that decides about a study, by its name; of its first situation."""
    entries = which_method.load(checkout.HOME)
    return {one.study.partition("/")[2]: one.metric for one in reversed(entries)}


def scores(study: SiteStudy, streams: list[str], metric: str) -> Scores:
    """Return the mean score over streams [seed] of each method."""
    return which_method.mean_over_streams([study.by_seed(name, metric) for name in streams])


def _decided(entry: Situation, study: SiteStudy) -> Decided:
    streams = _streams(entry, study)
    by_stream = [study.by_seed(name, entry.metric) for name in streams]
    found = which_method.ranked(entry, study.planned, by_stream)
    return Decided(entry, study, streams, found.judged, found.lines, found.rankings)


def _streams(entry: Situation, study: SiteStudy) -> list[str]:
    if entry.metric not in study.metrics:
        return []
    return [name for name in study.streams if fnmatch(name, entry.stream)]

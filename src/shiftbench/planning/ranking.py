"""Which methods of a config can be ranked, on which streams: those that all the streams have.

Decided by what the config plans, before there is any score.
"""

from __future__ import annotations

from typing import NamedTuple

from shiftbench.planning.endings import TRIALS
from shiftbench.planning.schema import Config

METRIC = "acc"
FEWEST = 3
"""Streams, and methods, below which there is nothing to test."""


class Ranking(NamedTuple):
    """Streams by name with the study that has them, and the methods that they all have."""

    streams: dict[str, str]
    methods: list[str]


def plan(config: Config) -> Ranking | None:
    """The streams and methods with most cells, stream times method; None for too few of either.

    From all streams those are taken out, one after the other, without which the others share the
    most methods. A stream that several studies have counts in the study with most methods.
    """
    left, best = _methods(config), None
    while len(left) >= FEWEST:
        shared = _shared(left)
        if len(shared) >= FEWEST and (best is None or _cells(left) > len(best[0]) * len(best[1])):
            best = Ranking({stream: study for stream, (study, _) in left.items()}, sorted(shared))
        # The last of those that are equal, so that the config's first streams stay.
        out = max(reversed(left), key=lambda name: len(_shared(left, without=name)))
        del left[out]
    return best


def labels(config: Config, ranking: Ranking) -> dict[str, str]:
    """What figures call the methods."""
    studies = [config.studies[name] for name in dict.fromkeys(ranking.streams.values())]
    found = {
        method: study.label(variant)
        for study in reversed(studies)
        for variant, method in study.standing.items()
    }
    return {method: found[method] for method in ranking.methods}


def _methods(config: Config) -> dict[str, tuple[str, set[str]]]:
    """For each stream a study with the metric, and its methods."""
    found: dict[str, tuple[str, set[str]]] = {}
    for name, study in config.studies.items():
        if METRIC in study.metrics and not name.endswith(TRIALS):
            methods = set(study.standing.values())
            for stream in study.streams:
                if stream not in found or len(methods) > len(found[stream][1]):
                    found[stream] = name, methods
    return found


def _shared(streams: dict[str, tuple[str, set[str]]], without: str = "") -> set[str]:
    """The methods that all these streams have."""
    kept = [methods for name, (_, methods) in streams.items() if name != without]
    return set.intersection(*kept) if kept else set()


def _cells(streams: dict[str, tuple[str, set[str]]]) -> int:
    return len(streams) * len(_shared(streams))

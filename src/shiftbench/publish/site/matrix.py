"""Methods x studies: where each method stands; studies that share methods stand together."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple

from shiftbench.publish.site.collect import Results, Study
from shiftbench.publish.site.standings import Place, Standings


class Entry(NamedTuple):
    """A method in a study: the learner that stands best, its place, seeds, and how many others are
    the same method with other settings."""

    study: Study
    learner: str
    place: Place
    coverage: str
    others: int


class Block(NamedTuple):
    """Studies of a config that share methods, directly or by others; by method, its entries."""

    config: str
    studies: list[Study]
    rows: dict[str, dict[str, Entry]]


def entries(results: Results, standings: Mapping[str, Standings]) -> dict[str, dict[str, Entry]]:
    """By method and study (as CONFIG/STUDY), in the order of the library and of the configs."""
    found: dict[str, dict[str, Entry]] = {name: {} for name in results.library.methods}
    for study in results.studies:
        of_method: dict[str, list[str]] = {}
        for learner in study.learners:
            if (method := study.method(learner)) in found:
                of_method.setdefault(str(method), []).append(learner)
        for method, learners in of_method.items():
            found[method][study.place] = _entry(study, learners, standings[study.place])
    return found


def blocks(results: Results, known: Mapping[str, Mapping[str, Entry]]) -> list[Block]:
    """By config, the largest first: every study with a method of the library is in one block."""
    found = []
    for plan in results.plans:
        studies = {one.place: one for one in results.studies if one.plan is plan}
        made = [
            Block(
                plan.name,
                [study for place, study in studies.items() if place in places],
                {
                    name: {place: entry for place, entry in known[name].items() if place in places}
                    for name in known
                    if name in methods
                },
            )
            for places, methods in _groups(studies, known)
        ]
        found += sorted(made, key=lambda block: -len(block.studies) * len(block.rows))
    return found


def _groups(
    studies: Container[str], known: Mapping[str, Mapping[str, Entry]]
) -> list[tuple[set[str], set[str]]]:
    """Studies, by place, and methods that hang together."""
    groups: list[tuple[set[str], set[str]]] = []
    for method, having in known.items():
        places, methods = {place for place in having if place in studies}, {method}
        if not places:
            continue
        for group in [one for one in groups if one[0] & places]:
            groups.remove(group)
            places |= group[0]
            methods |= group[1]
        groups.append((places, methods))
    return groups


def _entry(study: Study, learners: list[str], standings: Standings) -> Entry:
    places = {name: standings.place(name) for name in learners}
    best = min(learners, key=lambda name: (places[name].rank != places[name].rank, places[name]))
    return Entry(study, best, places[best], _coverage(study, best, standings), len(learners) - 1)


def _coverage(study: Study, learner: str, standings: Standings) -> str:
    """Seeds with a score, of those planned; the least of all streams."""
    table = study.summary
    rows = table[(table["learner"] == learner) & (table["metric"] == standings.metric)]
    least = int(rows["n"].min()) if len(rows) else 0
    return f"{least} of {study.planned.seeds} seeds"

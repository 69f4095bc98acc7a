"""Table of methods by studies with the rank of each method, in groups of studies."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple

import numpy as np

from shiftbench.publish.site import paging
from shiftbench.publish.site.collect import SiteResults, SiteStudy
from shiftbench.publish.site.standings import Standing, Standings


class MatrixCell(NamedTuple):
    """A method of the library in a study.

    method: what the study calls it, with the settings that rank best; coverage: seeds with a score,
    in words; others: number of rows of the study that have it with other settings.
    """

    study: SiteStudy
    method: str
    standing: Standing
    coverage: str
    others: int


class StudyGroup(NamedTuple):
    """Studies of a config that share methods, directly or through others. rows: cells by method."""

    config: str
    studies: list[SiteStudy]
    rows: dict[str, dict[str, MatrixCell]]


def cells(
    results: SiteResults, standings: Mapping[str, Standings]
) -> dict[str, dict[str, MatrixCell]]:
    """Return cells by method and study (CONFIG/STUDY), in the order of methods and configs."""
    by_method: dict[str, dict[str, MatrixCell]] = {name: {} for name in results.methods}
    for study in results.studies:
        of_library: dict[str, list[str]] = {}
        for method in study.methods:
            if (name := study.library_method(method)) in by_method:
                of_library.setdefault(str(name), []).append(method)
        for name, methods in of_library.items():
            by_method[name][study.place] = _cell(study, methods, standings[study.place])
    return by_method


def groups(
    results: SiteResults, by_method: Mapping[str, Mapping[str, MatrixCell]]
) -> list[StudyGroup]:
    """Return the groups of studies by config, the largest first.

    Every study with a method that has a name of its own is in exactly one group.
    """
    all_groups = []
    for plan in results.plans:
        studies = {study.place: study for study in results.studies if study.plan is plan}
        of_plan = [
            StudyGroup(
                plan.name,
                [study for place, study in studies.items() if place in places],
                {
                    name: {place: cell for place, cell in row.items() if place in places}
                    for name, row in by_method.items()
                    if name in methods
                },
            )
            for places, methods in _connected(studies, by_method)
        ]
        all_groups += sorted(of_plan, key=lambda group: -len(group.studies) * len(group.rows))
    return all_groups


def words(group: StudyGroup) -> int:
    """Return the number of words that a group takes in a table, with the states of its cells."""
    of_cells = [f"{cell.standing.state} {cell.standing.shown}"
                for row in group.rows.values() for cell in row.values()]  # fmt: skip
    return paging.words([*group.rows, *(study.name for study in group.studies), *of_cells])


def _connected(
    studies: Container[str], by_method: Mapping[str, Mapping[str, MatrixCell]]
) -> list[tuple[set[str], set[str]]]:
    """Return the connected sets of studies (CONFIG/STUDY) and methods."""
    groups: list[tuple[set[str], set[str]]] = []
    for method, row in by_method.items():
        places, methods = {place for place in row if place in studies}, {method}
        if not places:
            continue
        for group in [each for each in groups if each[0] & places]:
            groups.remove(group)
            places |= group[0]
            methods |= group[1]
        groups.append((places, methods))
    return groups


def _cell(study: SiteStudy, methods: list[str], standings: Standings) -> MatrixCell:
    of_methods = {name: standings.of_method(name) for name in methods}
    # A method without a rank comes last.
    best = min(methods, key=lambda name: np.nan_to_num(of_methods[name].rank, nan=np.inf))
    coverage = _coverage(study, best, standings)
    return MatrixCell(study, best, of_methods[best], coverage, len(methods) - 1)


def _coverage(study: SiteStudy, method: str, standings: Standings) -> str:
    """Return the seeds with a score, of those planned, in words: the fewest over streams."""
    table = study.summary
    rows = table[(table["learner"] == method) & (table["metric"] == standings.metric)]
    least = int(rows["n"].min()) if len(rows) else 0
    return f"{least} of {study.planned.seeds} seeds"

"""The board of the start page: methods by question, with the scores that decide each question.

A question is a situation of docs/situations.yaml. Results without any have a column for each of
their largest studies instead, tuned ones first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from shiftbench.evaluation.scoring import ranking
from shiftbench.evaluation.scoring.ranking import StreamRanking
from shiftbench.publish.site import numbers, situations
from shiftbench.publish.site.collect import Results, SiteStudy
from shiftbench.publish.site.situations import Decided
from shiftbench.publish.site.standings import BEST, TIED, Standing, Standings

COLUMNS = 6
"""Largest number of columns."""


class Column(NamedTuple):
    """A question, with the ranking on its streams taken together; measured: metric in words."""

    title: str
    study: SiteStudy
    streams: list[str]
    metric: str
    measured: str
    standings: Standings

    @property
    def ranking(self) -> StreamRanking:
        """The methods, best first."""
        (found,) = self.standings.cells.values()
        return found

    @property
    def first(self) -> str:
        """The order that has the best score first."""
        return "descending" if ranking.higher_is_better(self.metric) else "ascending"

    @property
    def about(self) -> str:
        """The metric with its unit, and how settings were chosen."""
        unit = numbers.unit(self.metric)
        better = "higher" if ranking.higher_is_better(self.metric) else "lower"
        tuned = "settings tuned" if self.study.planned.tuning else "settings not tuned"
        return f"{self.measured}{' (%)' if unit == '%' else ''}, {better} is better; {tuned}"


class BoardCell(NamedTuple):
    """Score of a method on a question: its text, its sort key, its study's row and its standing."""

    text: str
    sort: str
    learner: str
    standing: Standing


class BoardRow(NamedTuple):
    """Methods of one label, such as VCL on images and on words; method: the first, for a link."""

    label: str
    method: str
    cells: Mapping[str, BoardCell]


class Board(NamedTuple):
    """A table of methods by questions; the rows that lead most questions come first."""

    columns: list[Column]
    rows: list[BoardRow]


def of(results: Results, known: Mapping[str, Standings], decided: Sequence[Decided]) -> Board:
    """Return the board of results. known: standings by study; decided: situations."""
    columns = [_column(one, known) for one in decided if one.entry.question]
    columns.sort(key=lambda one: one.study.planned.tuning is None)
    columns = (columns or list(_largest(results, known)))[:COLUMNS]
    by_label: dict[str, dict[str, BoardCell]] = {}
    methods: dict[str, str] = {}
    for column in columns:
        for learner in column.ranking.scores:
            method = column.study.method(learner)
            if method not in results.library.methods:
                continue
            label = column.study.label(learner)
            methods.setdefault(label, method)
            # Learners are best first: the first of a label is its best.
            by_label.setdefault(label, {}).setdefault(column.title, _cell(column, learner))
    rows = [BoardRow(label, methods[label], cells) for label, cells in by_label.items()]
    return Board(columns, sorted(rows, key=_place))


def _place(row: BoardRow) -> tuple[int, int, int]:
    """Return the sort key of a row: on how many questions it is best, as good, and judged."""
    states = [cell.standing.state for cell in row.cells.values()]
    return -states.count(BEST), -states.count(TIED), -len(states)


def _column(one: Decided, known: Mapping[str, Standings]) -> Column:
    entry, bounds = one.entry, known[one.study.place].bounds
    return _ranked(
        entry.question, one.study, one.streams, entry.metric, bounds, measured=entry.measured
    )


def _largest(results: Results, known: Mapping[str, Standings]) -> Iterator[Column]:
    """Yield a column for each study with a leading metric, tuned and large ones first."""
    studies = sorted(
        results.studies, key=lambda one: (one.planned.tuning is None, -len(one.learners))
    )
    for study in studies:
        found = known[study.place]
        if found.metric and (streams := [name for name, one in found.cells.items() if one.scores]):
            yield _ranked(study.name, study, streams[:1], found.metric, found.bounds)


def _ranked(
    title: str,
    study: SiteStudy,
    streams: list[str],
    metric: str,
    bounds: list[str],
    measured: str = "",
) -> Column:
    scores = situations.scores(study, streams, metric)
    scores = {name: values for name, values in scores.items() if name not in bounds}
    found = ranking.rank(title, scores, metric)
    words = measured or metric.replace("_", " ")
    return Column(title, study, streams, metric, words, Standings(metric, {title: found}, bounds))


def _cell(column: Column, learner: str) -> BoardCell:
    mean = float(np.nanmean(column.ranking.scores[learner]))
    text = numbers.short(column.metric, mean)
    return BoardCell(
        text, f"{mean:.{numbers.DIGITS}g}", learner, column.standings.of_learner(learner)
    )

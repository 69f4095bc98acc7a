"""The board of the start page: methods by question, with the scores that decide each question.

A question is a situation of docs/situations.yaml.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from shiftbench.evaluation.scoring import ranking, units
from shiftbench.evaluation.scoring.ranking import StreamRanking
from shiftbench.publish.site import numbers, situations
from shiftbench.publish.site.collect import SiteResults, SiteStudy
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
        unit = units.shown_unit(self.metric)
        better = "higher" if ranking.higher_is_better(self.metric) else "lower"
        tuned = "settings tuned" if self.study.planned.tuning else "settings not tuned"
        return f"{self.measured}{' (%)' if unit == '%' else ''}, {better} is better; {tuned}"


class BoardCell(NamedTuple):
    """Score of a method on a question: its text, its sort key, its study's row and its standing."""

    text: str
    sort: str
    method: str
    standing: Standing


class BoardRow(NamedTuple):
    """Methods of one label, such as VCL on images and on words.

    library_method: the first that is one of the library's, for a link; None without.
    """

    label: str
    library_method: str | None
    cells: Mapping[str, BoardCell]


class Board(NamedTuple):
    """A table of methods by questions; the rows that lead most questions come first."""

    columns: list[Column]
    rows: list[BoardRow]


def of(results: SiteResults, known: Mapping[str, Standings], decided: Sequence[Decided]) -> Board:
    """Return the board of results. known: standings by study; decided: situations."""
    columns = [_column(one, known) for one in decided if one.entry.question]
    columns.sort(key=lambda one: one.study.planned.tuning is None)
    columns = columns[:COLUMNS]
    by_label: dict[str, dict[str, BoardCell]] = {}
    of_label: dict[str, str] = {}
    for column in columns:
        for method in column.ranking.scores:
            label = column.study.label(method)
            of_library = column.study.library_method(method)
            if of_library in results.library.methods:
                of_label.setdefault(label, of_library)
            # Methods are best first: the first of a label is its best.
            by_label.setdefault(label, {}).setdefault(column.title, _cell(column, method))
    rows = [BoardRow(label, of_label.get(label), cells) for label, cells in by_label.items()]
    return Board(columns, sorted(rows, key=_place))


def _place(row: BoardRow) -> tuple[int, int, int]:
    """Return the sort key of a row: the numbers of questions on which it is best, tied, judged."""
    states = [cell.standing.state for cell in row.cells.values()]
    return -states.count(BEST), -states.count(TIED), -len(states)


def _column(one: Decided, known: Mapping[str, Standings]) -> Column:
    entry, study, bounds = one.entry, one.study, known[one.study.place].bounds
    scores = situations.scores(study, one.streams, entry.metric)
    scores = {name: values for name, values in scores.items() if name not in bounds}
    found = ranking.rank(entry.question, scores, entry.metric)
    words = entry.measured
    standings = Standings(entry.metric, {entry.question: found}, bounds)
    return Column(entry.question, study, one.streams, entry.metric, words, standings)


def _cell(column: Column, method: str) -> BoardCell:
    mean = float(np.nanmean(column.ranking.scores[method]))
    text = units.text(column.metric, mean)
    return BoardCell(text, f"{mean:.{numbers.DIGITS}g}", method, column.standings.of_method(method))

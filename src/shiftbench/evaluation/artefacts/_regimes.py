"""Cells of a study with axes: their position in the grid, and the leader of each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from shiftbench.evaluation.scoring import comparison, ranking, study_ranking
from shiftbench.evaluation.scoring.ranking import StreamRanking
from shiftbench.evaluation.scoring.results import StudyResults

DETECTION = ("shift_recall", "shift_precision", "shift_delay")
"""Metrics of shift detection, shown where a study has them."""


class Grid(NamedTuple):
    """Streams of a study by their values on the axes, as texts in the order of the config."""

    axes: list[str]
    streams: dict[tuple[str, ...], str]

    def values(self, axis: int) -> list[str]:
        """Return the values of an axis; a single empty text if there is no such axis."""
        values = (cell[axis] if axis < len(self.axes) else "" for cell in self.streams)
        return list(dict.fromkeys(values))

    def blocks(self) -> list[tuple[str, ...]]:
        """Return all combinations of values of the axes after the second; at least an empty one."""
        return list(product(*(self.values(axis) for axis in range(2, len(self.axes)))))

    def stream(self, column: str, row: str, block: tuple[str, ...]) -> str:
        """Return the stream at a value of the first axis, of the second, and of the others."""
        return self.streams[(column, row, *block)[: len(self.axes)]]

    def title(self, axis: int) -> str:
        """Return an axis in words."""
        return self.axes[axis].replace("_", " ").replace("-", " ")

    def describe(self, block: tuple[str, ...]) -> str:
        """Return a block in words: each axis with its value."""
        values = enumerate(block, start=2)
        return ", ".join(f"{self.title(axis)} {value}" for axis, value in values)


def grid(study: StudyResults, artefact: str) -> Grid:
    """Return the grid of a study. Raises UserError for a study without axes."""
    if not study.cells:
        raise study.lacking(artefact, "`axes`, which make a grid of the study's stream")
    first = next(iter(study.cells.values()))
    streams = {tuple(map(_text, at.values())): stream for stream, at in study.cells.items()}
    return Grid(list(first), streams)


def flat(grid: Grid) -> Grid:
    """Return a grid of two axes: the first, and all others in words, a column each."""
    if len(grid.axes) < 3:
        return grid
    # The last axis first, as the letter of the panel leaves the first line less room.
    others = range(len(grid.axes) - 1, 0, -1)
    columns = {
        cell: ",\n".join(f"{grid.title(axis)} {cell[axis]}" for axis in others)
        for cell in grid.streams
    }
    streams: dict[tuple[str, ...], str] = {
        (cell[0], columns[cell]): stream for cell, stream in grid.streams.items()
    }
    return Grid([grid.axes[0], ""], streams)


def cells(study: StudyResults, metric: str) -> dict[str, StreamRanking]:
    """Return the ranking on each stream of a study."""
    return {
        stream: ranking.rank(stream, study_ranking.scores(study, stream, metric), metric)
        for stream in study.streams
    }


def over_map(cells: Sequence[StreamRanking]) -> np.ndarray:
    """Return p of each cell's lead over all other methods [cell], by Holm's method over cells.

    For one cell: its largest uncorrected p, as all its comparisons have to hold at once (an
    intersection-union test); NaN where one of them has no p.
    """
    largest = [max((lead.over.p for lead in cell.leads.values()), default=np.nan) for cell in cells]
    unknown = [any(np.isnan(lead.over.p) for lead in cell.leads.values()) for cell in cells]
    return comparison.corrected(list(np.where(unknown, np.nan, largest)))


def _text(value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:g}" if is_number else str(value)

"""The cells of a study with axes: their place in the grid, and who leads in each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from shiftbench.config import components
from shiftbench.evaluation.artefacts import neighbours
from shiftbench.evaluation.scoring import comparison, ranking, statistics
from shiftbench.evaluation.scoring.ranking import Cell
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Interval

DETECTION = ("shift_recall", "shift_precision", "shift_delay")
"""Metrics of how shifts are found, shown where a study has them."""


class Grid(NamedTuple):
    """The streams of a study by their values on the axes, as texts in the order of the config."""

    axes: list[str]
    streams: dict[tuple[str, ...], str]

    def values(self, axis: int) -> list[str]:
        """The values of an axis; of one that is not there, the only one is empty."""
        places = (place[axis] if axis < len(self.axes) else "" for place in self.streams)
        return list(dict.fromkeys(places))

    def blocks(self) -> list[tuple[str, ...]]:
        """The combinations of values of all axes after the second; one empty one at least."""
        return list(product(*(self.values(axis) for axis in range(2, len(self.axes)))))

    def stream(self, column: str, row: str, block: tuple[str, ...]) -> str:
        """The stream at values of the first axis, of the second, and of the others."""
        return self.streams[(column, row, *block)[: len(self.axes)]]

    def title(self, axis: int) -> str:
        """An axis in words."""
        return self.axes[axis].replace("_", " ").replace("-", " ")

    def told(self, block: tuple[str, ...]) -> str:
        """A block in words: each axis with its value."""
        places = enumerate(block, start=2)
        return ", ".join(f"{self.title(axis)} {value}" for axis, value in places)


def grid(study: StudyResults, artefact: str) -> Grid:
    """The grid of a study. UserError for a study without axes."""
    if not study.cells:
        raise study.lacking(artefact, "`axes`, which make a grid of the study's stream")
    first = next(iter(study.cells.values()))
    places = {tuple(map(_text, at.values())): stream for stream, at in study.cells.items()}
    return Grid(list(first), places)


def cells(study: StudyResults, metric: str) -> dict[str, Cell]:
    """Who leads on each stream of a study, by stream."""
    return {
        stream: ranking.cell(stream, neighbours.ranked(study, stream, metric), metric)
        for stream in study.streams
    }


def over_map(found: Sequence[Cell]) -> np.ndarray:
    """p of every cell's lead over all others, [cell], by Holm's method over the cells.

    Of one cell: the largest of its uncorrected p, as all its comparisons have to hold at once
    (an intersection-union test). NaN where one of them has none.
    """
    largest = [max((lead.over.p for lead in cell.leads.values()), default=np.nan) for cell in found]
    unknown = [any(np.isnan(lead.over.p) for lead in cell.leads.values()) for cell in found]
    return comparison.corrected(list(np.where(unknown, np.nan, largest)))


def advantage(metric: str, one: np.ndarray, other: np.ndarray) -> Interval:
    """The difference of `leads.better` alone, also of methods without a score."""
    pair = ranking.upwards(metric, one, other)
    return statistics.paired_difference(*pair, statistics.bounds(metric))


def factor(metric: str) -> int:
    """What scores are multiplied with to be shown: 100 of fractions, for percent and points."""
    return 100 if components.constant("metrics", metric, "UNIT") == "fraction" else 1


def number(metric: str, value: float, sign: str = "") -> str:
    """A score, or with sign "+" a difference, as it is shown."""
    return f"{factor(metric) * value:{sign}z{'.1f' if factor(metric) > 1 else '.3g'}}"


def ends(metric: str, of: Interval) -> str:
    """ "[low, high]" as it is shown; empty where there is no interval."""
    unknown = np.isnan(of.low)
    return "" if unknown else f"[{number(metric, of.low)}, {number(metric, of.high)}]"


def _text(value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:g}" if is_number else str(value)

"""The cells of a study with axes: their place in the grid, and who leads in each.

In a cell the leader is the method with the best mean score, and every other method is compared
with it, seed by seed (paired t test, Holm's method over the others of the cell). Those that are
not resolved share its lead; where there are none, the lead is resolved.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from shiftbench.artefacts import neighbours
from shiftbench.planning import components
from shiftbench.scoring import comparison, statistics
from shiftbench.scoring.comparison import ALPHA, Comparison
from shiftbench.scoring.results import StudyResults
from shiftbench.scoring.statistics import Interval

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


class Lead(NamedTuple):
    """The leader of a cell over another method: difference, positive, and its corrected p."""

    over: Comparison
    p: float

    @property
    def resolved(self) -> bool:
        """Whether the seeds tell the two apart."""
        return self.p < ALPHA


class Cell(NamedTuple):
    """Who leads on one stream. scores [seed], best mean first; leads: over each of the others."""

    stream: str
    scores: dict[str, np.ndarray]
    leads: dict[str, Lead]

    @property
    def leader(self) -> str | None:
        """The method with the best mean; None where none has a score."""
        return next(iter(self.scores), None)

    @property
    def tied(self) -> list[str]:
        """The others that the seeds do not tell apart from the leader, best first."""
        return [name for name, lead in self.leads.items() if not lead.resolved]

    @property
    def resolved(self) -> bool:
        """Whether the leader is told apart from every other method."""
        return bool(self.leads) and not self.tied


def grid(study: StudyResults, artefact: str) -> Grid:
    """The grid of a study. UserError for a study without axes."""
    if not study.cells:
        raise study.lacking(artefact, "`axes`, which make a grid of the study's stream")
    first = next(iter(study.cells.values()))
    places = {tuple(map(_text, at.values())): stream for stream, at in study.cells.items()}
    return Grid(list(first), places)


def cells(study: StudyResults, metric: str) -> dict[str, Cell]:
    """Who leads on each stream of a study, by stream."""
    return {stream: _cell(study, stream, metric) for stream in study.streams}


def over_map(found: Sequence[Cell]) -> np.ndarray:
    """p of every cell's lead over all others, [cell], by Holm's method over the cells.

    Of one cell: the largest of its uncorrected p, as all its comparisons have to hold at once
    (an intersection-union test). NaN where one of them has none.
    """
    largest = [max((lead.over.p for lead in cell.leads.values()), default=np.nan) for cell in found]
    unknown = [any(np.isnan(lead.over.p) for lead in cell.leads.values()) for cell in found]
    return comparison.corrected(list(np.where(unknown, np.nan, largest)))


def better(metric: str, one: np.ndarray, other: np.ndarray) -> Comparison:
    """How much better one method is than another, [seed] each, in the metric's unit."""
    pair = _upwards(metric, one, other)
    size = neighbours.region(metric, np.nanmean(pair))
    return comparison.compare(*pair, size, statistics.bounds(metric))


def advantage(metric: str, one: np.ndarray, other: np.ndarray) -> Interval:
    """The difference of `better` alone, also of methods without a score."""
    return statistics.paired_difference(*_upwards(metric, one, other), statistics.bounds(metric))


def _upwards(metric: str, one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two scores in the order in which their difference is above 0 where the first is better."""
    up = components.constant("metrics", metric, "HIGHER_IS_BETTER")
    return (one, other) if up else (other, one)


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


def _cell(study: StudyResults, stream: str, metric: str) -> Cell:
    scores = neighbours.ranked(study, stream, metric)
    if not scores:
        return Cell(stream, {}, {})
    leader, *others = scores
    found = [better(metric, scores[leader], scores[other]) for other in others]
    p = comparison.corrected([each.p for each in found])
    leads = {
        other: Lead(each, float(corrected))
        for other, each, corrected in zip(others, found, p, strict=True)
    }
    return Cell(stream, scores, leads)

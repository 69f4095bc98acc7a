"""Lines over the first axis of a study: a panel for each value of the second, in several rows.

Values of the other axes are told apart by the style of lines, and methods by their look.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts._regimes import Grid
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Interval

STYLES = ("-", "--", ":", "-.")
HEIGHT = 2.3
SPREAD = 0.36
"""How far apart the lines of a panel stand, so that no interval hides another."""


class Row(NamedTuple):
    """One row of panels. lines: of each method, whose look it has, the number on a stream."""

    title: str
    unit: str
    lines: Mapping[str, Callable[[str], Interval]]
    zero: bool = False
    within: tuple[float, float] | None = None


def draw(study: StudyResults, grid: Grid, rows: Sequence[Row], caption: str) -> Figure:
    """The figure of these rows."""
    drawn = figure_style.figure(HEIGHT * len(rows) + 0.4, caption, study.budget())
    columns = grid.values(1)
    letters = figure_style.letters(len(rows) * len(columns))
    panels = drawn.subplots(len(rows), len(columns), squeeze=False, sharey="row")
    for i, row in enumerate(rows):
        for j, value in enumerate(columns):
            letter = letters[i * len(columns) + j]
            where = f"{grid.title(1)} {value}" if len(grid.axes) > 1 else ""
            figure_style.title(panels[i, j], letter, where)
            _panel(panels[i, j], study, grid, row, value)
        panels[i, 0].set_ylabel(f"{row.title}\n({row.unit})")
    _legend(drawn, study, grid, rows)
    return drawn


def _panel(axes: Axes, study: StudyResults, grid: Grid, row: Row, value: str) -> None:
    columns, blocks = grid.values(0), grid.blocks()
    number = len(row.lines) * len(blocks)
    shifts = np.linspace(-SPREAD / 2, SPREAD / 2, number) if number > 1 else np.zeros(1)
    if row.zero:
        axes.axhline(0, color=figure_style.MUTED, lw=0.8)
    lines = [(name, block) for name in row.lines for block in blocks]
    for shift, (name, block) in zip(shifts, lines, strict=True):
        found = [row.lines[name](grid.stream(column, value, block)) for column in columns]
        style = STYLES[blocks.index(block) % len(STYLES)]
        _line(axes, np.arange(len(columns)) + shift, found, style, figure_style.look(study, name))
    axes.set_xticks(range(len(columns)), columns)
    axes.set_xlabel(grid.title(0))
    if row.within:
        axes.set_ylim(*row.within)


def _line(
    axes: Axes, places: np.ndarray, found: Sequence[Interval], style: str, look: dict[str, object]
) -> None:
    """Means with their intervals, of one seed without."""
    mean = np.array([one.mean for one in found])
    ends = np.array([[one.mean - one.low, one.high - one.mean] for one in found]).T
    kept = {"lw": 1.3, "ms": 4.5, "ls": style, "elinewidth": 0.9, "capsize": 1.5}
    axes.errorbar(places, mean, np.nan_to_num(ends), **kept, **look)  # type: ignore[arg-type]


def _legend(drawn: Figure, study: StudyResults, grid: Grid, rows: Sequence[Row]) -> None:
    names = dict.fromkeys(name for row in rows for name in row.lines)
    handles = [
        Line2D([], [], ls="", label=study.label(name), **figure_style.look(study, name))
        for name in names
    ]
    blocks = grid.blocks()
    for place, block in enumerate(blocks if len(blocks) > 1 else ()):
        style = STYLES[place % len(STYLES)]
        handles.append(Line2D([], [], ls=style, color=figure_style.INK, label=grid.told(block)))
    figure_style.legend(drawn, handles)

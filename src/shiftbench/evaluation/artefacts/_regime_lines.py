"""Lines over the first axis of a study, with a panel for each value of the second, in rows.

The dashes of a line show the values of the other axes, its colour and marker the method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from shiftbench.config import components
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts._regimes import Grid
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Interval

STYLES = ("-", "--", ":", "-.")
HEIGHT = 2.3
SPREAD = 0.36
"""Range of the horizontal shifts of lines, which keep intervals from hiding each other."""


class PanelRow(NamedTuple):
    """One row of panels. lines: for each method, the function from a stream to its number."""

    title: str
    unit: str
    lines: Mapping[str, Callable[[str], Interval]]
    zero: bool = False
    within: tuple[float, float] | None = None


def of_metric(study: StudyResults, metric: str, title: str) -> PanelRow:
    """Return the row of a metric, with a line for each method that has scores."""
    bounds, unit = statistics.bounds(metric), components.metric(metric).unit
    scored = [
        name
        for name in study.learners
        if any(not np.isnan(study.score(stream, name, metric)).all() for stream in study.streams)
    ]

    def line(name: str) -> Callable[[str], Interval]:
        return lambda stream: statistics.interval(study.score(stream, name, metric), bounds)

    within = (-0.03, 1.03) if unit == "fraction" else None
    return PanelRow(title, unit, {name: line(name) for name in scored}, within=within)


def draw(study: StudyResults, grid: Grid, rows: Sequence[PanelRow], caption: str) -> Figure:
    """Draw the figure of these rows."""
    figure = figure_style.figure(HEIGHT * len(rows) + 0.4, caption, study.budget())
    columns = grid.values(1)
    letters = figure_style.panel_letters(len(rows) * len(columns))
    panels = figure.subplots(len(rows), len(columns), squeeze=False, sharey="row")
    for i, row in enumerate(rows):
        for j, value in enumerate(columns):
            letter = letters[i * len(columns) + j]
            where = f"{grid.title(1)} {value}" if len(grid.axes) > 1 else ""
            figure_style.set_title(panels[i, j], letter, where)
            _panel(panels[i, j], study, grid, row, value)
        panels[i, 0].set_ylabel(f"{row.title}\n({row.unit})")
    _legend(figure, study, grid, rows)
    return figure


def _panel(axes: Axes, study: StudyResults, grid: Grid, row: PanelRow, value: str) -> None:
    columns, blocks = grid.values(0), grid.blocks()
    number = len(row.lines) * len(blocks)
    shifts = np.linspace(-SPREAD / 2, SPREAD / 2, number) if number > 1 else np.zeros(1)
    if row.zero:
        axes.axhline(0, color=figure_style.MUTED, lw=0.8)
    lines = [(name, block) for name in row.lines for block in blocks]
    for shift, (name, block) in zip(shifts, lines, strict=True):
        band = figure_style.as_band(
            row.lines[name](grid.stream(column, value, block)) for column in columns
        )
        axes.errorbar(
            np.arange(len(columns)) + shift,
            band.mean,
            np.nan_to_num(figure_style.error_bars(band)),
            lw=1.3,
            ms=4.5,
            ls=STYLES[blocks.index(block) % len(STYLES)],
            elinewidth=0.9,
            capsize=1.5,
            **figure_style.method_style(study, name),
        )
    axes.set_xticks(range(len(columns)), columns)
    axes.set_xlabel(grid.title(0))
    if row.within:
        axes.set_ylim(*row.within)


def _legend(figure: Figure, study: StudyResults, grid: Grid, rows: Sequence[PanelRow]) -> None:
    names = dict.fromkeys(name for row in rows for name in row.lines)
    handles = [
        Line2D([], [], ls="", label=study.label(name), **figure_style.method_style(study, name))
        for name in names
    ]
    blocks = grid.blocks()
    for number, block in enumerate(blocks if len(blocks) > 1 else ()):
        style = STYLES[number % len(STYLES)]
        label = grid.describe(block)
        handles.append(Line2D([], [], ls=style, color=figure_style.INK, label=label))
    figure_style.figure_legend(figure, handles)

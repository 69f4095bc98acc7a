"""Lines over the first axis of a study, with a panel for each value of the second, in rows.

Colour and marker show the method, and the line style the values of the other axes. Without other
axes, the names of methods are at the ends of lines. A panel in which nothing varies is replaced by
a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from shiftbench.config import components
from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts._regimes import Grid
from shiftbench.evaluation.scoring import statistics, units
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Interval

HEIGHT = 2.3
SPREAD, STEP, WHOLE = 0.36, 0.07, 9.0
"""Largest range of the horizontal shifts of lines, in levels; the shift between two lines and the
width of all panels, in inches. Shifts keep intervals from hiding each other, and are so small that
points seem to lie at their level."""
GAP = 0.11
"""Distance of names at the ends of lines, as a share of a panel's height."""


class PanelRow(NamedTuple):
    """One row of panels. lines: for each method, the function from a stream to its number."""

    title: str
    unit: str
    lines: Mapping[str, Callable[[str], Interval]]
    zero: bool = False
    within: tuple[float, float] | None = None


def of_metric(study: StudyResults, metric: str, title: str) -> PanelRow:
    """Return the row of a metric, with a line for each method that has scores."""
    bounds, factor = statistics.bounds(metric), units.factor(metric)
    scored = [
        name
        for name in study.methods
        if any(not np.isnan(study.score(stream, name, metric)).all() for stream in study.streams)
    ]

    def line(name: str) -> Callable[[str], Interval]:
        return lambda stream: statistics.interval(study.score(stream, name, metric), bounds).times(
            factor
        )

    within = (-3.0, 103.0) if factor > 1 else None
    unit = "%" if factor > 1 else components.metric(metric).unit
    return PanelRow(title, unit, {name: line(name) for name in scored}, within=within)


def draw(study: StudyResults, grid: Grid, rows: Sequence[PanelRow], caption: str) -> Figure:
    """Draw the figure of these rows."""
    figure = figure_style.figure(HEIGHT * len(rows) + 0.4, caption, study.basis())
    columns = grid.values(1)
    letters = iter(figure_style.panel_letters(len(rows) * len(columns)))
    panels = figure.subplots(len(rows), len(columns), squeeze=False, sharey="row")
    for row, line in zip(rows, panels, strict=True):
        for axes, value in zip(line, columns, strict=True):
            where = f"{grid.title(1)} {value}".strip() if len(grid.axes) > 1 else ""
            figure_style.set_title(axes, next(letters), where)
            _draw_panel(axes, study, grid, row, value)
        _label(line, study, row, named=len(grid.blocks()) == 1)
    if len(grid.blocks()) > 1:
        _legend(figure, study, grid, rows)
    return figure


def _draw_panel(axes: Axes, study: StudyResults, grid: Grid, row: PanelRow, value: str) -> None:
    columns, blocks = grid.values(0), grid.blocks()
    lines = {
        (name, block): figure_style.as_band(
            row.lines[name](grid.stream(column, value, block)) for column in columns
        )
        for name in row.lines
        for block in blocks
    }
    axes.set_xticks(range(len(columns)), columns)
    axes.set_xlim(-SPREAD, len(columns) - 1 + SPREAD)
    axes.set_xlabel(grid.title(0))
    if row.within:
        axes.set_ylim(*row.within)
    means = [band.mean for band in lines.values()]
    constant, empty = _constant(means), bool(np.isnan(means).all())
    if constant is not None or empty:
        text = "no method has\na number" if empty else f"{constant:g} {row.unit}\nthroughout"
        axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center")
        return
    figure_style.divide_levels(axes, len(columns))
    level = WHOLE / (len(grid.values(1)) * len(columns))
    shifts = figure_style.dodge(len(lines), STEP / level, SPREAD)
    if row.zero:
        axes.axhline(0, color=figure_style.MUTED, lw=0.8)
    dashes = _dashes(study, list(row.lines), blocks)
    for shift, ((name, block), band) in zip(shifts, lines.items(), strict=True):
        drawn = axes.errorbar(
            np.arange(len(columns)) + shift,
            band.mean,
            np.nan_to_num(figure_style.error_bars(band)),
            lw=1.3,
            ms=4.5,
            ls=dashes[name, block],
            elinewidth=0.9,
            capsize=1.5,
            **figure_style.method_style(study, name),
        )
        drawn.lines[0].set_label(name)


def _dashes(
    study: StudyResults, names: Sequence[str], blocks: Sequence[tuple[str, ...]]
) -> dict[tuple[str, tuple[str, ...]], str]:
    """Return the style of each line: of its block or, of a single block, of lines of one colour."""
    styles: dict[tuple[str, tuple[str, ...]], str] = {}
    colours: list[object] = []
    for name in names:
        colour = figure_style.method_style(study, name)["color"]
        for number, block in enumerate(blocks):
            place = number if len(blocks) > 1 else colours.count(colour)
            styles[name, block] = highlights.DASHES[place % len(highlights.DASHES)]
        colours.append(colour)
    return styles


def _constant(means: Sequence[np.ndarray]) -> float | None:
    """Return the value that all means share; None if they differ or are fewer than three."""
    finite = np.concatenate([mean[~np.isnan(mean)] for mean in means])
    return float(finite[0]) if len(finite) > 2 and np.ptp(finite) == 0 else None


def _label(panels: Sequence[Axes], study: StudyResults, row: PanelRow, named: bool) -> None:
    """Label the axis of a row of panels and, if `named`, the ends of its last lines."""
    panels[0].set_ylabel(f"{row.title}\n({row.unit})")
    drawn = [axes for axes in panels if axes.containers]
    if not drawn or not named:
        return
    ends, lines = {}, drawn[-1].get_lines()
    for line in (each for each in lines if each.get_label() in row.lines):
        x, y = (np.asarray(each, float) for each in line.get_data())
        if (known := ~np.isnan(y)).any():
            name = study.label(str(line.get_label()))
            ends[name] = (x[known][-1], y[known][-1], line.get_color())
    highlights.name_ends(drawn[-1], ends, GAP)


def _legend(figure: Figure, study: StudyResults, grid: Grid, rows: Sequence[PanelRow]) -> None:
    names = dict.fromkeys(name for row in rows for name in row.lines)
    handles = [
        Line2D([], [], ls="", label=study.label(name), **figure_style.method_style(study, name))
        for name in names
    ]
    blocks = grid.blocks()
    for number, block in enumerate(blocks if len(blocks) > 1 else ()):
        style = highlights.DASHES[number % len(highlights.DASHES)]
        label = grid.describe(block)
        handles.append(Line2D([], [], ls=style, color=figure_style.INK, label=label))
    figure_style.figure_legend(figure, handles)

"""Lines over the first axis of a study, with a panel for each value of the second, in rows.

Few methods have a colour, with their names at the ends of lines, and all others are grey. A panel
in which nothing varies is replaced by a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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
    """One row of panels.

    lines: for each method, the function from a stream to its number. reference: number with a
    horizontal line. within: limits of the axis.
    """

    title: str
    unit: str
    lines: Mapping[str, Callable[[str], Interval]]
    reference: float | None = None
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


def paired(study: StudyResults, metric: str, title: str) -> PanelRow:
    """Return the row of a metric with intervals of the difference from the mean of all methods.

    The difference is taken on each seed, so that a hard seed does not widen all intervals. Of the
    methods with scores on a stream, those seeds count that all of them have; where fewer than two
    methods or seeds remain, an interval is that of the scores.
    """
    row = of_metric(study, metric, title)

    def line(name: str) -> Callable[[str], Interval]:
        def of(stream: str) -> Interval:
            own = row.lines[name](stream)
            scores = {each: study.score(stream, each, metric) for each in row.lines}
            there = [of_seeds for of_seeds in scores.values() if not np.isnan(of_seeds).all()]
            if not own.n or len(there) < 2:
                return own
            mean = np.mean(there, axis=0)
            over = statistics.interval(scores[name] - mean).times(units.factor(metric))
            if over.n < 2:
                return own
            low, high = (own.mean + end - over.mean for end in (over.low, over.high))
            return own._replace(low=low, high=high)

        return of

    alone = len(row.lines) < 2
    return row if alone else row._replace(lines={name: line(name) for name in row.lines})


def draw(
    study: StudyResults,
    grid: Grid,
    rows: Sequence[PanelRow],
    message: str,
    foot: str,
    coloured: Sequence[str],
) -> Figure:
    """Draw the figure of these rows below their message. coloured: methods that are not grey."""
    figure = figure_style.figure(HEIGHT * len(rows) + 0.4, foot, study.basis())
    figure_style.set_message(figure, message)
    columns = grid.values(1)
    letters = iter(figure_style.panel_letters(len(rows) * len(columns)))
    panels = figure.subplots(len(rows), len(columns), squeeze=False, sharey="row")
    for row, line in zip(rows, panels, strict=True):
        for axes, value in zip(line, columns, strict=True):
            where = f"{grid.title(1)} {value}".strip() if len(grid.axes) > 1 else ""
            if where:  # a letter alone would say nothing
                figure_style.set_title(axes, next(letters), where)
            _draw_panel(axes, study, grid, row, value, coloured)
        _label(line, study, row, coloured)
    return figure


def grey(study: StudyResults, names: Iterable[str], coloured: Sequence[str]) -> str:
    """Return the sentence for captions on the methods whose lines are grey; empty without any."""
    others = [study.label(name) for name in names if name not in coloured]
    return f" Grey: {'; '.join(others)}." if others else ""


def _draw_panel(
    axes: Axes,
    study: StudyResults,
    grid: Grid,
    row: PanelRow,
    value: str,
    coloured: Sequence[str],
) -> None:
    columns = grid.values(0)
    lines = {
        name: figure_style.as_band(of(grid.stream(column, value, ())) for column in columns)
        for name, of in row.lines.items()
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
    if row.reference is not None:
        axes.axhline(row.reference, color=figure_style.MUTED, lw=0.8)
    for shift, (name, band) in zip(shifts, lines.items(), strict=True):
        style = highlights.style(study, name, coloured)
        drawn = axes.errorbar(
            np.arange(len(columns)) + shift,
            band.mean,
            np.nan_to_num(figure_style.error_bars(band)),
            lw=1.3,
            ms=4.5,
            elinewidth=0.9,
            capsize=1.5,
            **style | {"marker": style["marker"] or "."},
        )
        drawn.lines[0].set_label(name)


def _constant(means: Sequence[np.ndarray]) -> float | None:
    """Return the value that all means share; None if they differ or are fewer than three."""
    finite = np.concatenate([mean[~np.isnan(mean)] for mean in means])
    return float(finite[0]) if len(finite) > 2 and np.ptp(finite) == 0 else None


def _label(
    panels: Sequence[Axes], study: StudyResults, row: PanelRow, coloured: Sequence[str]
) -> None:
    """Label the axis of a row of panels, and the ends of its last lines: coloured, or one grey."""
    panels[0].set_ylabel(f"{row.title}\n({row.unit})")
    drawn = [axes for axes in panels if axes.containers]
    if not drawn:
        return
    ends = {}
    for line in (each for each in drawn[-1].get_lines() if each.get_label() in row.lines):
        x, y = (np.asarray(each, float) for each in line.get_data())
        if (known := ~np.isnan(y)).any():
            ends[str(line.get_label())] = (x[known][-1], y[known][-1])
    names = highlights.ends(study, ends, coloured)
    others = [name for name in ends if name not in coloured]
    if len(others) == 1:  # a single grey line needs no list in the caption
        names[study.label(others[0])] = (*ends[others[0]], figure_style.MUTED)
    highlights.name_ends(drawn[-1], names, GAP)

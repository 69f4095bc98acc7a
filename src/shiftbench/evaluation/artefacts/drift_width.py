"""Accuracy, alarms per drift and drifts found, over the width of drifts.

Reads the axes `drift_width` and, where a study has it, `drift_mode`. A drift of width 0 changes at
once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from shiftbench.config import components
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _best, _regimes
from shiftbench.evaluation.artefacts._regimes import Grid
from shiftbench.evaluation.scoring import alarms, statistics, units
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Interval

FACTS = Facts(uses=("accuracy", "alarms_per_drift", "episode_recall"), study=("axes",))

PANELS = dict(zip(FACTS.uses, ("accuracy", "alarms per drift", "drifts found"), strict=True))
"""The metric and the title of each panel."""
AXES = [["drift_width"], ["drift_width", "drift_mode"]]
STYLES = ("-", "--")
SPREAD, STEP = 0.24, 0.05
"""Largest range of the horizontal shifts of lines, and the shift between two of them."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw a panel per metric. Raises UserError without the axes or metrics."""
    grid = _grid(study)
    figure = figure_style.figure(3.3 + figure_style.MESSAGE, _foot(study), study.basis())
    below = figure_style.below_message(figure, message(study))
    panels = below.subplots(1, len(PANELS))
    letters = figure_style.panel_letters(len(PANELS))
    for axes, letter, (metric, title) in zip(panels, letters, PANELS.items(), strict=True):
        _draw(axes, study, grid, metric)
        figure_style.set_title(axes, letter, title)
    panels[1].axhline(1, color=figure_style.MUTED, lw=0.8, ls=":", zorder=0)
    _legend(below, study, grid)
    return figure


def caption(study: StudyResults) -> str:
    """Say who leads in the widest drifts, describe the numbers, the runs and the reductions."""
    return f"{message(study)}. {_foot(study)}"


def message(study: StudyResults) -> str:
    """Say which methods are the most accurate in the widest drifts, and find the most."""
    grid = _grid(study)
    widths, modes = grid.values(0), grid.values(1)
    widest = max(widths, key=float)
    where = f"Drifts of {widest} task{'s' if widest != '1' else ''}"
    start = (where if float(widest) else "Abrupt drifts") + ", the widest" * (len(widths) > 1)
    averaged = f" (means over {' and '.join(modes)})" if len(modes) > 1 else ""
    accuracy, alarms, recall = (_scores(study, grid, widest, metric) for metric in PANELS)
    finding = _finding(study, recall, _best.means(study, alarms))
    return f"{start}: {_accurate(study, accuracy)}{finding}{averaged}"


def _scores(study: StudyResults, grid: Grid, width: str, metric: str) -> _best.Scores:
    """Return the mean over modes of each method [seed], fractions in percent, NaN without one."""
    streams = [grid.stream(width, mode, ()) for mode in grid.values(1)]
    return {
        name: units.factor(metric)
        * np.mean([study.score(stream, name, metric) for stream in streams], axis=0)
        for name in study.methods
    }


def _accurate(study: StudyResults, scores: _best.Scores) -> str:
    """Say which methods have the largest accuracy."""
    means = _best.means(study, scores)
    if not means:
        return "no method has an accuracy"
    best = _best.largest(means)
    who, percent = _best.names(study, best), f"{means[best[0]]:.1f} %"
    if len(means) == 1:
        return f"{who} has an accuracy of {percent}"
    verb = "are" if len(best) > 1 else "is"
    leads = f"{who} {verb} the most accurate of {len(means)} methods, {percent}"
    return f"{leads}{_best.others(study, scores, best)}"


def _finding(study: StudyResults, scores: _best.Scores, alarms: dict[str, float]) -> str:
    """Say which methods find the most drifts, with how many alarms; empty without scores.

    alarms: mean number of alarms per drift.
    """
    means = _best.means(study, scores)
    if not means:
        return ""
    best = _best.largest(means)
    who, percent = _best.names(study, best), f"{means[best[0]]:.1f} %"
    if not means[best[0]]:
        return "; no method finds a drift"
    raised = [alarms[name] for name in best if name in alarms]
    ends = dict.fromkeys(f"{one:.1f}" for one in (min(raised), max(raised))) if raised else ()
    cost = f" with {' to '.join(ends)} alarms per drift" if ends else ""
    if len(means) == 1:
        return f"; {who} finds {percent} of the drifts{cost}"
    verb = "find" if len(best) > 1 else "finds"
    most = f"; {who} {verb} the most drifts, {percent},{cost}".rstrip(",")
    return f"{most}{_best.others(study, scores, best)}"


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    windows = sorted({alarms.horizon(store).window for store in study.streams.values()})
    tasks = " or ".join(map(str, windows))
    return (
        "Width: tasks that a drift takes; 0: at once. Alarms count from the start of a drift until "
        f"{tasks} tasks after its end, so wide drifts leave time for more; dotted: one per drift. "
        f"Mean over seeds, and its {statistics.described(*PANELS)}. {study.basis()}"
    )


def _grid(study: StudyResults) -> Grid:
    """Return the grid of a study. Raises UserError without the axes or metrics."""
    grid = _regimes.grid(study, "drift-width")
    if grid.axes not in AXES:
        raise study.lacking("drift-width", "the axes drift_width or drift_width, drift_mode")
    study.require_metrics("drift-width", *FACTS.uses)
    return grid


def _score(study: StudyResults, stream: str, method: str, metric: str) -> Interval:
    """Return the score of a method, fractions in percent."""
    of = statistics.interval(study.score(stream, method, metric), statistics.bounds(metric))
    return of.times(units.factor(metric))


def _draw(axes: Axes, study: StudyResults, grid: Grid, metric: str) -> None:
    """Draw a line for each method and mode; none for a method without the metric."""
    widths, modes = grid.values(0), grid.values(1)
    lines = [(method, mode) for method in study.methods for mode in modes]
    places = figure_style.dodge(len(lines), STEP, SPREAD)
    figure_style.divide_levels(axes, len(widths))
    for place, (method, mode) in zip(places, lines, strict=True):
        streams = [grid.stream(width, mode, ()) for width in widths]
        band = figure_style.as_band(_score(study, name, method, metric) for name in streams)
        if np.isnan(band.mean).all():
            continue
        axes.errorbar(
            np.arange(len(widths)) + place,
            band.mean,
            np.nan_to_num(figure_style.error_bars(band)),
            **figure_style.method_style(study, method),
            ls=STYLES[modes.index(mode)],
            lw=1.3,
            ms=4.5,
            elinewidth=0.8,
            capsize=1.5,
        )
    axes.set_xticks(range(len(widths)), widths)
    axes.set_xlim(-0.4, len(widths) - 0.6)
    axes.set_xlabel("width of a drift (tasks)")
    unit = components.metric(metric).unit
    axes.set_ylabel("%" if unit == "fraction" else unit)


def _legend(block: Any, study: StudyResults, grid: Grid) -> None:
    handles = [
        Line2D([], [], **figure_style.method_style(study, name), label=study.label(name))
        for name in study.methods
    ]
    if len(modes := grid.values(1)) > 1:
        handles += [
            Line2D([], [], color=figure_style.INK, ls=style, label=mode)
            for style, mode in zip(STYLES, modes, strict=False)
        ]
    figure_style.figure_legend(block, handles)

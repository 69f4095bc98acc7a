"""Map of regimes: the method that leads in each cell of a study with axes, and its lead.

Columns are the first axis, rows the second, and panels the values of the others. On the left a
cell has the colour of its leader; on the right it shows the lead over the study's baseline.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from functools import partial

import numpy as np
import seaborn as sns
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _best, _regimes
from shiftbench.evaluation.artefacts._regimes import Grid
from shiftbench.evaluation.scoring import statistics, study_ranking, units
from shiftbench.evaluation.scoring.comparison import ALPHA
from shiftbench.evaluation.scoring.ranking import StreamRanking
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(study=("axes", "baseline"))

CELL = 0.82
"""Height of a cell in inches."""
PANEL, MARKER, CHARACTERS = 4.9, 0.1, 16
"""About the width of a panel and the distance of markers, in inches; characters per inch."""
TINT, FAINT, LINES = 0.55, 0.12, 0.45
"""Shares of a colour: in a cell with a significant lead; in other cells, and in their hatching."""
LEADS = sns.color_palette("light:#0173b2", as_cmap=True)
DARKEST = 0.6
"""Position of the largest lead in these colours, so that ink on it remains legible."""
NO_LEAD = "0.93"


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw the map.

    Raises UserError without axes, a baseline, or a metric with a better direction.
    """
    grid, metric = _regimes.grid(study, "regime-map"), _metric(study)
    cells = _regimes.cells(study, metric)
    found = list(cells.values())
    blocks, rows = grid.blocks(), grid.values(1)
    height = len(blocks) * (CELL * len(rows) + 0.75) + 0.5 + figure_style.MESSAGE
    figure = figure_style.figure(height, _foot(study, metric, found), study.basis())
    below = figure_style.below_message(figure, _message(study, found))
    panels = below.subplots(len(blocks), 2, squeeze=False)
    letters = figure_style.panel_letters(panels.size)
    most = max((_lead(study, cell) for cell in found), default=0.0)
    for number, (block, (left, right)) in enumerate(zip(blocks, panels, strict=True)):
        where = f"{grid.describe(block)}: " if block else ""
        _frame(left, grid, letters[2 * number], f"{where}who leads, and its lead over the next")
        versus = study.label(str(study.baseline))
        _frame(right, grid, letters[2 * number + 1], f"{where}lead of the leader over {versus}")
        for x, column in enumerate(grid.values(0)):
            for y, row in enumerate(rows):
                cell = cells[grid.stream(column, row, block)]
                _draw_leader(left, (x, y), study, metric, cell)
                _draw_lead(right, (x, y), study, metric, cell, most)
    _legend(below, study, found)
    return figure


def caption(study: StudyResults) -> str:
    """Count the significant leads, describe the cells, the number of runs and the reductions."""
    metric = _metric(study)
    cells = list(_regimes.cells(study, metric).values())
    return f"{_message(study, cells)}. {_foot(study, metric, cells)}"


def _message(study: StudyResults, cells: list[StreamRanking]) -> str:
    """Say in how many cells a method is better than all others, and who leads in the most."""
    led = Counter(cell.leader for cell in cells if cell.leader is not None)
    if not led:
        return "No cell has a score"
    most = max(led.values())
    best = [name for name in study.methods if led[name] == most]
    verb = "leads" if len(best) == 1 else "each lead"
    leads = f"{_best.names(study, best)} {verb} in {most}"
    untested = [cell.untested for cell in cells if cell.untested]
    if not _is_tested(cells):
        return f"{leads} of {len(cells)} cells; {untested[0]}, so no test"
    note = f" (in {len(untested)}, {untested[0]}, so no test)" if untested else ""
    resolved = sum(cell.resolved for cell in cells)
    everywhere = int((_regimes.over_map(cells) < ALPHA).sum())
    start = (
        f"In {resolved} of {len(cells)} cells ({everywhere} after correction over the cells), one"
        " method is"
        if resolved
        else f"In none of {len(cells)} cells is one method"
    )
    return f"{start} significantly better than all others{note}; {leads}"


def _foot(study: StudyResults, metric: str, cells: list[StreamRanking]) -> str:
    """Return what is written below the figure."""
    unit = "percentage points of" if units.factor(metric) > 1 else "units of"
    versus = study.label(str(study.baseline))
    test = " (paired t test, 5 %, corrected by Holm's method)" if _is_tested(cells) else ""
    ends = "" if None in statistics.bounds(metric) else " on the logit scale"
    return (
        f"Colour and name: the method with the best mean {metric}. Numbers: its lead in {unit} "
        f"{metric}, paired by seed, with the 95 % interval (Student t{ends}, not corrected). "
        f"Hatched: the lead is {_hatched(cells)}{test}. Left: over the methods marked in the cell "
        f"(grey: also not over {versus}). Right: over {versus}. {study.basis()}"
    )


def _hatched(cells: list[StreamRanking]) -> str:
    """Return the meaning of hatching, for the legend."""
    return "not significant" if _is_tested(cells) else "not tested"


def _is_tested(cells: list[StreamRanking]) -> bool:
    """Return whether a test was possible in any cell."""
    return not all(cell.untested for cell in cells)


def _metric(study: StudyResults) -> str:
    if study.baseline not in study.methods:
        raise study.lacking("regime-map", "one of its methods as `baseline`")
    return study_ranking.leading_metric(study, "regime-map")


def _frame(axes: Axes, grid: Grid, letter: str, title: str) -> None:
    """Prepare a panel without cells."""
    columns, rows = grid.values(0), grid.values(1)
    figure_style.set_title(axes, letter, title)
    axes.set(xlim=(0, len(columns)), ylim=(len(rows), 0), xlabel=grid.title(0))
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns)
    axes.set_yticks(np.arange(len(rows)) + 0.5, rows)
    if len(grid.axes) > 1:
        axes.set_ylabel(grid.title(1))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _draw_leader(
    axes: Axes, at: tuple[int, int], study: StudyResults, metric: str, cell: StreamRanking
) -> None:
    if cell.leader is None:
        _box(axes, at, NO_LEAD, resolved=True)
        _write(axes, at, 0.5, "no score", 7)
        return
    # Grey where even the baseline is not resolved from the leader.
    colour = figure_style.method_style(study, cell.leader)["color"]
    _box(axes, at, figure_style.MUTED if study.baseline in cell.tied else colour, cell.resolved)
    _name(axes, at, study.label(cell.leader), weight="bold")
    if cell.leads:
        _number(axes, at, metric, cell, next(iter(cell.leads)))
    tied = [cell.leader, *cell.tied]
    distance = min(MARKER / _cell_width(axes), 0.9 / len(tied))
    for number, name in enumerate(tied):
        x = at[0] + 0.5 + distance * (number - (len(tied) - 1) / 2)
        style = figure_style.method_style(study, name)
        axes.plot(x, at[1] + 0.87, ls="", ms=5, mec="white", mew=0.6, **style)


def _draw_lead(
    axes: Axes,
    at: tuple[int, int],
    study: StudyResults,
    metric: str,
    cell: StreamRanking,
    most: float,
) -> None:
    """Draw the lead over the baseline. most: the largest lead in the map."""
    baseline = str(study.baseline)
    if baseline not in cell.leads:
        _box(axes, at, NO_LEAD, resolved=True)
        leads = cell.leader == baseline
        _write(axes, at, 0.5, f"{study.label(baseline)} leads" if leads else "no score", 7)
        return
    resolved = cell.leads[baseline].resolved
    share = _lead(study, cell) / most if most else 0.0
    _box(axes, at, LEADS(DARKEST * share) if resolved else figure_style.MUTED, resolved, tint=1.0)
    _name(axes, at, study.label(str(cell.leader)))
    _number(axes, at, metric, cell, baseline)


def _lead(study: StudyResults, cell: StreamRanking) -> float:
    """Return the mean lead over the baseline, or 0 without one."""
    lead = cell.leads.get(str(study.baseline))
    return max(0.0, lead.over.difference.mean) if lead else 0.0


def _box(
    axes: Axes, at: tuple[int, int], colour: object, resolved: bool, tint: float = TINT
) -> None:
    """Draw a cell, filled if its lead is resolved, else hatched."""
    fill = {"fc": _tinted(colour, tint)}
    hatched = {"fc": _tinted(colour, FAINT), "ec": _tinted(colour, LINES), "hatch": "////", "lw": 0}
    corner = at[0] + 0.02, at[1] + 0.03
    axes.add_patch(Rectangle(corner, 0.96, 0.94, **(fill if resolved else hatched)))


def _tinted(colour: object, share: float) -> tuple[float, float, float]:
    """Return a mixture of a colour, with its share, and white."""
    red, green, blue = (1 - share * (1 - value) for value in to_rgb(colour))  # type: ignore[arg-type]
    return red, green, blue


def _number(axes: Axes, at: tuple[int, int], metric: str, cell: StreamRanking, other: str) -> None:
    """Write the lead over another method and its interval."""
    lead = cell.leads[other].over.difference
    _write(axes, at, 0.42, units.text(metric, lead.mean, sign="+"), 11, weight="bold")
    _write(axes, at, 0.66, units.ends(lead.low, lead.high, partial(units.text, metric)), 7)


def _write(
    axes: Axes, at: tuple[int, int], height: float, text: str, size: float, weight: str = "normal"
) -> None:
    """Write a centred line in a cell, with a light edge that keeps hatching away."""
    written = axes.text(
        at[0] + 0.5, at[1] + height, text,
        size=size, weight=weight, color=figure_style.INK, ha="center", va="center",
    )  # fmt: skip
    written.set_path_effects([patheffects.withStroke(linewidth=2.2, foreground="white")])


def _name(axes: Axes, at: tuple[int, int], label: str, weight: str = "normal") -> None:
    """Write a method's name at the top of a cell, in several lines if it is long."""
    lines = textwrap.wrap(label, max(8, int(_cell_width(axes) * CHARACTERS)))
    _write(axes, at, 0.16, "\n".join(lines), 7 if len(lines) == 1 else 6, weight)


def _cell_width(axes: Axes) -> float:
    """Return about the width of a cell in inches."""
    return PANEL / axes.get_xlim()[1]


def _legend(figure: SubFigure, study: StudyResults, cells: list[StreamRanking]) -> None:
    """Add the methods that lead a cell, or share its lead, and the meaning of hatching."""
    leading = {name for cell in cells for name in (cell.leader, *cell.tied)}
    handles: list[Line2D | Patch] = [
        Line2D(
            [], [], ls="", ms=6, label=study.label(name), **figure_style.method_style(study, name)
        )
        for name in study.methods
        if name in leading
    ]
    handles.append(Patch(fc="white", ec=figure_style.MUTED, hatch="////", label=_hatched(cells)))
    figure_style.figure_legend(figure, handles)

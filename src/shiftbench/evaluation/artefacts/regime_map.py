"""A map of regimes: which method leads in each cell of a study with axes, and by how much.

Columns are the first axis, rows the second, and panels the values of the others. On the left a
cell has the colour of its leader, on the right its lead over the study's baseline.
"""

from __future__ import annotations

import textwrap

import numpy as np
import seaborn as sns
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _regimes, neighbours
from shiftbench.evaluation.artefacts._regimes import Grid
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.comparison import ALPHA
from shiftbench.evaluation.scoring.ranking import Cell
from shiftbench.evaluation.scoring.results import StudyResults

KIND = "figure"
AXES = True
COMPARES = ("baseline",)

CELL = 0.82
"""Height of a cell in inches."""
PANEL, MARKER, CHARACTERS = 4.9, 0.1, 16
"""Inches that a panel is about wide, inches from marker to marker, and characters in an inch."""
TINT, FAINT, LINES = 0.55, 0.12, 0.45
"""Share of a colour in a cell: where its lead is resolved; elsewhere, and in the hatching there."""
LEADS = sns.color_palette("light:#0173b2", as_cmap=True)
DARKEST = 0.6
"""Share of the colours above that the largest lead has, so that ink on it is read."""
NO_LEAD = "0.93"


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """The figure. UserError without axes, baseline, or a metric of which more or less is better."""
    grid, metric = _regimes.grid(study, "regime-map"), _metric(study)
    cells = _regimes.cells(study, metric)
    blocks, rows = grid.blocks(), grid.values(1)
    height = len(blocks) * (CELL * len(rows) + 0.75) + 0.5
    told = _told(study, metric, list(cells.values()))
    drawn = figure_style.figure(height, told, study.budget())
    panels = drawn.subplots(len(blocks), 2, squeeze=False)
    letters = figure_style.letters(panels.size)
    most = max((_lead(study, cell) for cell in cells.values()), default=0.0)
    for number, (block, (left, right)) in enumerate(zip(blocks, panels, strict=True)):
        where = f"{grid.told(block)}: " if block else ""
        _frame(left, grid, letters[2 * number], f"{where}who leads, and its lead over the next")
        versus = study.label(str(study.baseline))
        _frame(right, grid, letters[2 * number + 1], f"{where}lead of the leader over {versus}")
        for x, column in enumerate(grid.values(0)):
            for y, row in enumerate(rows):
                cell = cells[grid.stream(column, row, block)]
                _draw_leader(left, (x, y), study, metric, cell)
                _draw_lead(right, (x, y), study, metric, cell, most)
    _legend(drawn, study, list(cells.values()))
    return drawn


def caption(study: StudyResults) -> str:
    """What a cell shows, where leads are resolved, on how many runs, and what is cut."""
    metric = _metric(study)
    return _told(study, metric, list(_regimes.cells(study, metric).values()))


def _told(study: StudyResults, metric: str, cells: list[Cell]) -> str:
    resolved = sum(cell.resolved for cell in cells)
    everywhere = int((_regimes.over_map(cells) < ALPHA).sum())
    unit = "percentage points of" if _regimes.factor(metric) > 1 else "units of"
    versus = study.label(str(study.baseline))
    ends = "" if None in statistics.bounds(metric) else " on the logit scale"
    return (
        f"Colour and name: the method with the best mean {metric}. Numbers: its lead in {unit} "
        f"{metric}, paired by seed, with the 95 % interval (Student t{ends}). Hatched: not "
        "resolved, on the left from the methods whose markers stand in the cell too (grey: nor "
        f"from {versus}), on the right from {versus} (paired t test at 5 %, Holm's method over the "
        f"methods of a cell). Leads over all others are resolved in {resolved} of {len(cells)} "
        f"cells, corrected over the cells as well in {everywhere}. {study.budget()}"
    )


def _metric(study: StudyResults) -> str:
    if study.baseline not in study.learners:
        raise study.lacking("regime-map", "one of its methods as `baseline`")
    return neighbours.leading(study, "regime-map")


def _frame(axes: Axes, grid: Grid, letter: str, title: str) -> None:
    """A panel without cells."""
    columns, rows = grid.values(0), grid.values(1)
    figure_style.title(axes, letter, title)
    axes.set(xlim=(0, len(columns)), ylim=(len(rows), 0), xlabel=grid.title(0))
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns)
    axes.set_yticks(np.arange(len(rows)) + 0.5, rows)
    if len(grid.axes) > 1:
        axes.set_ylabel(grid.title(1))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _draw_leader(
    axes: Axes, at: tuple[int, int], study: StudyResults, metric: str, cell: Cell
) -> None:
    if cell.leader is None:
        _box(axes, at, NO_LEAD, resolved=True)
        _write(axes, at, 0.5, "no score", 7)
        return
    look = figure_style.look(study, cell.leader)
    # Grey says that there is nothing to choose, even against the baseline.
    _box(
        axes,
        at,
        figure_style.MUTED if study.baseline in cell.tied else look["color"],
        cell.resolved,
    )
    _name(axes, at, study.label(cell.leader), weight="bold")
    if cell.leads:
        _number(axes, at, metric, cell, next(iter(cell.leads)))
    there = [cell.leader, *cell.tied]
    apart = min(MARKER / _inches(axes), 0.9 / len(there))
    for place, name in enumerate(there):
        left = at[0] + 0.5 + apart * (place - (len(there) - 1) / 2)
        look = figure_style.look(study, name)
        axes.plot(left, at[1] + 0.87, ls="", ms=5, mec="white", mew=0.6, **look)


def _draw_lead(
    axes: Axes,
    at: tuple[int, int],
    study: StudyResults,
    metric: str,
    cell: Cell,
    most: float,
) -> None:
    """The lead over the baseline; most: the largest one of the map."""
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


def _lead(study: StudyResults, cell: Cell) -> float:
    """The mean lead over the baseline; 0 where there is none."""
    lead = cell.leads.get(str(study.baseline))
    return max(0.0, lead.over.difference.mean) if lead else 0.0


def _box(
    axes: Axes, at: tuple[int, int], colour: object, resolved: bool, tint: float = TINT
) -> None:
    """A cell, filled where its lead is resolved, else hatched."""
    fill = {"fc": _tinted(colour, tint)}
    hatched = {"fc": _tinted(colour, FAINT), "ec": _tinted(colour, LINES), "hatch": "////", "lw": 0}
    place = at[0] + 0.02, at[1] + 0.03
    axes.add_patch(Rectangle(place, 0.96, 0.94, **(fill if resolved else hatched)))


def _tinted(colour: object, share: float) -> tuple[float, float, float]:
    """A colour on white, with so much of it."""
    red, green, blue = (1 - share * (1 - part) for part in to_rgb(colour))  # type: ignore[arg-type]
    return red, green, blue


def _number(axes: Axes, at: tuple[int, int], metric: str, cell: Cell, other: str) -> None:
    """The lead over another method and its interval."""
    of = cell.leads[other].over.difference
    _write(axes, at, 0.42, _regimes.number(metric, of.mean, "+"), 11, weight="bold")
    _write(axes, at, 0.66, _regimes.ends(metric, of), 7)


def _write(
    axes: Axes, at: tuple[int, int], height: float, text: str, size: float, weight: str = "normal"
) -> None:
    """A line in the middle of a cell, with a light edge that hatching does not cross."""
    written = axes.text(
        at[0] + 0.5, at[1] + height, text,
        size=size, weight=weight, color=figure_style.INK, ha="center", va="center",
    )  # fmt: skip
    written.set_path_effects([patheffects.withStroke(linewidth=2.2, foreground="white")])


def _name(axes: Axes, at: tuple[int, int], label: str, weight: str = "normal") -> None:
    """A method's name at the top of a cell, in two lines where one is too short for it."""
    lines = textwrap.wrap(label, max(8, int(_inches(axes) * CHARACTERS)))
    _write(axes, at, 0.16, "\n".join(lines), 7 if len(lines) == 1 else 6, weight)


def _inches(axes: Axes) -> float:
    """About how wide a cell is."""
    return PANEL / axes.get_xlim()[1]


def _legend(drawn: Figure, study: StudyResults, cells: list[Cell]) -> None:
    """The methods that lead a cell, or share its lead, and what hatching is."""
    there = {name for cell in cells for name in (cell.leader, *cell.tied)}
    handles: list[Line2D | Patch] = [
        Line2D([], [], ls="", ms=6, label=study.label(name), **figure_style.look(study, name))
        for name in study.learners
        if name in there
    ]
    handles.append(Patch(fc="white", ec=figure_style.MUTED, hatch="////", label="not resolved"))
    figure_style.legend(drawn, handles)

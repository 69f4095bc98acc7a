"""Alarms that outliers raise, and the cost of ignoring outliers, by share of outliers.

Lines over the first axis of the study, the share of outliers, with a panel for each value of the
second, such as the length of bursts. Of the other axes the first stream with changes is shown.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from shiftbench.config import components
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _regime_lines, _regimes
from shiftbench.evaluation.artefacts._regimes import Grid
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults

ROWS = {
    "alarms_at_outliers": "false alarm at outliers",
    "restricted_delay": "delay of changes",
    "crps_clean": "CRPS of other values",
}
"""Metrics of the rows of panels."""
AXES = {"outliers": "share of outliers", "burst": "outliers in a row:"}
"""Words for axes that have these names."""
FACTS = Facts(uses=tuple(ROWS), study=("axes",), requires=("outliers", "shifts"))


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw a row of panels per metric. Raises UserError without axes or metrics."""
    study.require_metrics("outliers", *ROWS)
    grid = _shown(_regimes.grid(study, "outliers"))
    rows = [_regime_lines.of_metric(study, metric, title) for metric, title in ROWS.items()]
    figure = _regime_lines.draw(study, grid, rows, caption(study))
    for panel in figure.axes:  # a share of 0 has a place on the axis, but no alarms at outliers
        panel.set_xlim(-0.5, len(grid.values(0)) - 0.5)
    return figure


def caption(study: StudyResults) -> str:
    """Describe the numbers, the number of runs and the reductions."""
    about = {name: components.summary("metrics", name).rstrip(".") for name in ROWS}
    named = [f"{ROWS[name]}: {text[0].lower()}{text[1:]}" for name, text in about.items()]
    rest = _rest(_regimes.grid(study, "outliers"))
    return (
        f"Down is better. {'; '.join(named)}. Mean over seeds, and its"
        f" {statistics.described(*ROWS)}.{f' Shown for {rest}.' if rest else ''} {study.budget()}"
    )


def _shown(grid: Grid) -> Grid:
    """Return the grid of the first two axes, at the last values of the others."""
    last = grid.blocks()[-1]
    kept = {cell[:2]: stream for cell, stream in grid.streams.items() if cell[2:] == last}
    return Grid([AXES.get(axis, axis) for axis in grid.axes[:2]], kept)


def _rest(grid: Grid) -> str:
    """Return the other axes with their last values, in words; empty if there are none."""
    return grid.describe(grid.blocks()[-1])

"""Alarms that outliers raise, and the cost of ignoring outliers, by share of outliers.

Lines over the first axis of the study, the share of outliers, with a panel for each value of the
second, such as the length of bursts. Of the other axes the first stream with changes is shown.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _regime_lines, _regimes
from shiftbench.evaluation.artefacts._regimes import Grid
from shiftbench.evaluation.scoring import alarms, statistics
from shiftbench.evaluation.scoring.results import StudyResults

ROWS = {
    "alarms_at_outliers": "outliers that raise\na false alarm",
    "restricted_delay": "wait for an alarm\nafter a change",
    "crps_clean": "error on all other values",
}
"""Metrics of the rows of panels."""
SHARE = "outliers"
AXES = {SHARE: "share of outliers (%)", "burst": "outliers in a row:"}
"""Words for axes that have these names."""
FACTS = Facts(uses=tuple(ROWS), study=("axes",), requires=("outliers", "shifts"))


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw a row of panels per metric. Raises UserError without axes or metrics."""
    study.require_metrics("outliers", *ROWS)
    grid = _shown(_regimes.grid(study, "outliers"))
    window = _horizon(study).window
    units = ("% of bursts", f"values, at most {window}", "CRPS, unit of the series")
    rows = [
        _regime_lines.of_metric(study, metric, title)._replace(unit=unit)
        for (metric, title), unit in zip(ROWS.items(), units, strict=True)
    ]
    figure = _regime_lines.draw(study, grid, rows, caption(study))
    for panel in figure.axes:  # a share of 0 has a place on the axis, but no alarms at outliers
        panel.set_xlim(-0.5, len(grid.values(0)) - 0.5)
    return figure


def caption(study: StudyResults) -> str:
    """Describe the numbers, the number of runs and the reductions."""
    recent, window = _horizon(study)
    rest = _rest(_regimes.grid(study, "outliers"))
    return (
        "Down is better. Top: share of the bursts of outliers that raise a false alarm, at once or"
        f" at most {recent} values later. Middle: mean wait for the first alarm after a change, of"
        f" which at most {window} values count (Kaplan-Meier). Bottom: CRPS, the error of a"
        " predicted distribution, of each value that is no outlier, before it is learnt. Mean over"
        f" seeds, and its {statistics.described(*ROWS)}."
        f"{f' Shown for {rest}.' if rest else ''} {study.basis()}"
    )


def _horizon(study: StudyResults) -> alarms.Horizon:
    """Return the windows of alarms on the streams that are shown."""
    grid = _shown(_regimes.grid(study, "outliers"))
    return alarms.horizon(study.streams[next(iter(grid.streams.values()))])


def _shown(grid: Grid) -> Grid:
    """Return the grid of the first two axes, at the last values of the others."""
    last = grid.blocks()[-1]
    named = grid.axes[0] == SHARE
    kept = {
        (f"{100 * float(cell[0]):g}" if named else cell[0], *cell[1:2]): stream
        for cell, stream in grid.streams.items()
        if cell[2:] == last
    }
    return Grid([AXES.get(axis, axis) for axis in grid.axes[:2]], kept)


def _rest(grid: Grid) -> str:
    """Return the other axes with their last values, in words; empty if there are none."""
    values = zip(grid.axes[2:], grid.blocks()[-1], strict=True)
    return ", ".join(f"streams with {value} {axis}" for axis, value in values)

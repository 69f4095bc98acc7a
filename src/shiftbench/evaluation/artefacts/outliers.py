"""Alarms that outliers raise, and the cost of ignoring outliers, by share of outliers.

Lines over the first axis of the study, the share of outliers, with a panel for each value of the
second, such as the length of bursts. Other axes are at their last values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from matplotlib.figure import Figure

from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts import _best, _detectors, _regime_lines, _regimes
from shiftbench.evaluation.artefacts._regimes import Grid
from shiftbench.evaluation.scoring import alarms, statistics
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Interval

ROWS = {
    "alarms_at_outliers": "outliers that raise\na false alarm",
    "restricted_delay": "wait for an alarm\nafter a change",
    "crps_clean": "error on all other values",
}
"""Metrics of the rows of panels."""
SHARE, BURST = "outliers", "burst"
AXES = {SHARE: "share of outliers (%)", BURST: "outliers in a row:"}
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
    rows[1] = rows[1]._replace(
        lines={name: partial(_wait, line, window) for name, line in rows[1].lines.items()}
    )
    figure = _regime_lines.draw(study, grid, rows, message(study), _foot(study), _coloured(study))
    for panel in figure.axes:  # a share of 0 gets a tick, but has no alarms
        panel.set_xlim(-0.5, len(grid.values(0)) - 0.5)
    return figure


def _wait(line: Callable[[str], Interval], window: int, stream: str) -> Interval:
    """Return the mean wait of a line on a stream, with an interval that ends at the window."""
    return _detectors.within_window(line(stream), window)


def caption(study: StudyResults) -> str:
    """Say who has the fewest false alarms, describe the numbers, the runs and the reductions."""
    return f"{message(study)}. {_foot(study)}"


def message(study: StudyResults) -> str:
    """Say which methods have the fewest false alarms in the hardest cell, and their delay.

    The cell has the largest share of outliers and the last value of the second axis.
    """
    where, stream = _hardest(study)
    alarmed = _means(study, stream, "alarms_at_outliers")
    waits = _means(study, stream, "restricted_delay")
    best = _best.largest({name: -percent for name, percent in alarmed.items()})
    if not best:
        return f"{where}: no method has a share of false alarms"
    who, several = _best.names(study, best), len(best) > 1
    percent, verb = f"{alarmed[best[0]]:.1f} % of bursts", "have" if several else "has"
    fewest = f" the fewest false alarms of {len(alarmed)} methods," if len(alarmed) > 1 else ""
    said = f"{where}: {who} {verb}{fewest or ' false alarms'} in {percent}"
    scores = {name: study.score(stream, name, "alarms_at_outliers") for name in alarmed}
    others = _best.others(study, scores, best, lower=True)
    of_best = [waits[name] for name in best if name in waits]
    in_brackets = f" ({others.removeprefix('; ')})" if others else ""
    return f"{said}{in_brackets}{_waiting(study, of_best)}"


def _waiting(study: StudyResults, waits: list[float]) -> str:
    """Return the clause on the mean waits of some methods; empty without any."""
    if not waits:
        return ""
    several, window = len(waits) > 1, _horizon(study).window
    if math.isclose(min(waits), window):
        raised = "they never raise" if several else "it never raises"
        return f", but {raised} an alarm within {window} values of a change"
    ends = dict.fromkeys(f"{wait:.1f}" for wait in (min(waits), max(waits)))
    mean = f"{'their' if several else 'its'} mean delay is {' to '.join(ends)} values"
    return f", and {mean}, where a missed change counts as {window}"


def _hardest(study: StudyResults) -> tuple[str, str]:
    """Return the cell of `message`, in words, and its stream."""
    axes = _regimes.grid(study, "outliers").axes
    grid = _shown(_regimes.grid(study, "outliers"))
    values, last = grid.values(0), grid.values(1)[-1]
    share = max(values, key=float) if axes[0] == SHARE else values[-1]
    words = f"{share} % outliers" if axes[0] == SHARE else f"{grid.title(0)} {share}"
    if len(axes) > 1:
        words += f", {last} in a row" if axes[1] == BURST else f", {grid.title(1)} {last}"
    return words, grid.stream(share, last, ())


def _means(study: StudyResults, stream: str, metric: str) -> dict[str, float]:
    """Return the mean over seeds of each method with scores, without bounds, as it is drawn."""
    lines = _regime_lines.of_metric(study, metric, "").lines
    return _best.ranked(study, {name: line(stream).mean for name, line in lines.items()})


def _coloured(study: StudyResults) -> list[str]:
    """Return the methods with the fewest false alarms in the hardest cell, then the others."""
    alarmed = _means(study, _hardest(study)[1], "alarms_at_outliers")
    best = highlights.leaders({name: -percent for name, percent in alarmed.items()})
    return [*best, *(name for name in study.methods if name not in best)][: highlights.MOST]


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    recent, window = _horizon(study)
    rest = _rest(_regimes.grid(study, "outliers"))
    scored = _regime_lines.of_metric(study, "crps_clean", "").lines
    return (
        "Down is better. Top: share of the bursts of outliers that raise a false alarm, at once or"
        f" at most {recent} values later. Middle: mean wait for the first alarm after a change,"
        f" cut off at {window} values (Kaplan-Meier). Bottom: CRPS, the error of a"
        " predicted distribution, of each value that is no outlier, before it is learnt. Mean over"
        f" seeds, and its {statistics.described(*ROWS)}."
        f"{_regime_lines.grey(study, scored, _coloured(study))}"
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
    """Return the other axes with their last values, in words; empty if there are no other axes."""
    values = zip(grid.axes[2:], grid.blocks()[-1], strict=True)
    return ", ".join(f"streams with {value} {axis}" for axis, value in values)

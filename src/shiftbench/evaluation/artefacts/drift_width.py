"""Accuracy, alarms per drift and drifts found, over the width of drifts.

Reads the axes `drift_width` and, where a study has it, `drift_mode`. A drift of width 0 changes at
once.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts import _best, _regime_lines, _regimes
from shiftbench.evaluation.artefacts._regimes import Grid
from shiftbench.evaluation.scoring import alarms, statistics, units
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(uses=("accuracy", "alarms_per_drift", "episode_recall"), study=("axes",))

PANELS = dict(zip(FACTS.uses, ("accuracy", "alarms per drift", "drifts found"), strict=True))
"""The metric and the title of each row of panels."""
AXES = {"drift_width": "width of a drift (tasks)", "drift_mode": "kind of drift:"}
"""Axes of the study, with their words in the figure."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw a row of panels per metric. Raises UserError without the axes or metrics."""
    grid = _grid(study)
    accuracy, alarms, recall = PANELS.items()
    rows = [
        _regime_lines.paired(study, *accuracy)._replace(within=None),
        _regime_lines.of_metric(study, *alarms)._replace(
            title="alarms", unit="per drift", reference=1
        ),
        _regime_lines.of_metric(study, *recall),
    ]
    return _regime_lines.draw(study, grid, rows, message(study), _foot(study), _coloured(study))


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


def _coloured(study: StudyResults) -> list[str]:
    """Return the methods with the largest accuracy in the widest drifts."""
    grid = _grid(study)
    widest = max(grid.values(0), key=float)
    return highlights.leaders(_best.means(study, _scores(study, grid, widest, FACTS.uses[0])))


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    windows = sorted({alarms.horizon(store).window for store in study.streams.values()})
    tasks = " or ".join(map(str, windows))
    accurate = _regime_lines.of_metric(study, FACTS.uses[0], "").lines
    return (
        "Width: tasks that a drift takes; 0: at once. Alarms count from the start of a drift until "
        f"{tasks} tasks after its end, so a wide drift has time for more alarms; line: one alarm "
        f"per drift. Mean over seeds, and its {statistics.described(*FACTS.uses[1:])}; for "
        "accuracy, bars show the interval of a method's difference from the mean of all methods, "
        f"paired by seed.{_regime_lines.grey(study, accurate, _coloured(study))} {study.basis()}"
    )


def _grid(study: StudyResults) -> Grid:
    """Return the grid of a study. Raises UserError without the axes or metrics."""
    grid = _regimes.grid(study, "drift-width")
    if grid.axes not in ([*AXES][:1], [*AXES]):
        raise study.lacking("drift-width", "the axes drift_width or drift_width, drift_mode")
    study.require_metrics("drift-width", *FACTS.uses)
    return Grid([AXES[axis] for axis in grid.axes], grid.streams)

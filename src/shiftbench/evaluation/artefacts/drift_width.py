"""Accuracy, alarms per drift and delay over the width of drifts, a column for each mode.

Reads the axes `drift_width` and `drift_mode` of a study. A drift of width 0 changes at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure

from shiftbench.config import components
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _regime_lines, _regimes
from shiftbench.evaluation.artefacts._regime_lines import PanelRow
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Interval

FACTS = Facts(uses=("accuracy", "alarms_per_drift"), study=("axes",))

ROWS = {
    "accuracy": "accuracy",
    "alarms_per_drift": "alarms per drift",
    "episode_recall": "drifts found",
    "restricted_delay": "delay from the start",
}
"""Metrics that are shown where a study has them, with the titles of their panels."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw a row of panels per metric. Raises UserError without axes or metrics."""
    grid = _regimes.grid(study, "drift-width")
    if grid.axes[0] != "drift_width":
        raise study.lacking("drift-width", "`drift_width` as the first of its axes")
    study.require_metrics("drift-width", *FACTS.uses)
    rows = [_row(study, metric) for metric in _shown(study)]
    return _regime_lines.draw(study, grid, rows, caption(study))


def caption(study: StudyResults) -> str:
    """Describe the numbers, the number of runs and the reductions."""
    metrics = _shown(study)
    told = [
        f"{ROWS[name]}: {_first_small(components.summary('metrics', name).rstrip('.'))}"
        for name in metrics
        if name != "accuracy"
    ]
    return (
        "Over the number of tasks that a drift takes; 0: at once. "
        f"{'; '.join(told)}. Mean over seeds, and its {statistics.described(*metrics)}. "
        f"{study.budget()}"
    )


def _shown(study: StudyResults) -> list[str]:
    return [metric for metric in ROWS if metric in study.metrics]


def _row(study: StudyResults, metric: str) -> PanelRow:
    scored = [
        name
        for name in study.learners
        if any(not np.isnan(study.score(stream, name, metric)).all() for stream in study.streams)
    ]
    unit = components.metric(metric).unit
    lines = {name: _score_by_stream(study, metric, name) for name in scored}
    return PanelRow(ROWS[metric], "%" if unit == "fraction" else unit, lines)


def _score_by_stream(study: StudyResults, metric: str, name: str) -> Callable[[str], Interval]:
    """Return the function from a stream to a method's score there, as displayed."""
    within, factor = statistics.bounds(metric), _regimes.factor(metric)
    return lambda stream: statistics.interval(study.score(stream, name, metric), within).times(
        factor
    )


def _first_small(text: str) -> str:
    return text[0].lower() + text[1:]

"""Recall, precision and delay of shift detection over the cells of a study with axes."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from shiftbench.config import components
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts import _best, _regime_lines, _regimes
from shiftbench.evaluation.artefacts._regimes import DETECTION
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(uses=("shift_recall", "shift_precision"), study=("axes",))


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw a row of panels per metric. Raises UserError without axes or metrics."""
    grid = _regimes.flat(_regimes.grid(study, "regime-detection"))
    rows = [_regime_lines.of_metric(study, name, _title(name)) for name in _shown(study)]
    return _regime_lines.draw(study, grid, rows, message(study), _foot(study), _coloured(study))


def caption(study: StudyResults) -> str:
    """Say who finds the most, describe the numbers, the number of runs and the reductions."""
    metrics = _shown(study)
    summaries = {name: components.summary("metrics", name).rstrip(".") for name in metrics}
    named = [f"{_title(name)}: {text[0].lower()}{text[1:]}" for name, text in summaries.items()]
    return f"{message(study)}. {'; '.join(named)}. {_foot(study)} {study.basis()}"


def message(study: StudyResults) -> str:
    """Say which methods have the highest recall and the highest precision of shifts."""
    _shown(study)
    recall, precision = (_means(study, metric) for metric in FACTS.uses)
    found, true = (highlights.leaders(means, 1) for means in (recall, precision))
    where = f"Over {len(study.streams)} streams"
    if not found or not true:
        return "No method has a shift to judge"
    if len(recall) == 1:
        start = f"{where}, {study.label(found[0])} finds {recall[found[0]]:.1f} % of the shifts"
        return f"{start}, and {precision[true[0]]:.1f} % of the shifts that it infers are true"
    others = _best.others(study, _scores(study, FACTS.uses[0]), found)
    also = "it also" if true == found else study.label(true[0])
    return (
        f"{where}, {study.label(found[0])} finds the most shifts of {len(recall)} methods,"
        f" {recall[found[0]]:.1f} %{others}; {also} has the highest precision,"
        f" {precision[true[0]]:.1f} %"
    )


def _scores(study: StudyResults, metric: str) -> dict[str, np.ndarray]:
    """Return the mean over streams of each method [seed], without streams that have no number."""
    scores = {
        name: np.array([study.score(stream, name, metric) for stream in study.streams])
        for name in study.methods
    }
    return {
        name: np.array([statistics.interval(of).mean for of in each.T])
        for name, each in scores.items()
    }


def _means(study: StudyResults, metric: str) -> dict[str, float]:
    """Return the mean over streams of each method with scores, in percent."""
    scores = {
        name: np.array([study.score(stream, name, metric) for stream in study.streams])
        for name in study.methods
    }
    return {
        name: 100
        * statistics.interval(np.array([statistics.interval(of).mean for of in each])).mean
        for name, each in scores.items()
        if not np.isnan(each).all()
    }


def _coloured(study: StudyResults) -> list[str]:
    """Return the methods that find the most."""
    return highlights.leaders(_means(study, FACTS.uses[0]))


def _foot(study: StudyResults) -> str:
    """Return the sentences on means and intervals, which are drawn below the figure."""
    grey = _regime_lines.grey(study, _means(study, FACTS.uses[0]), _coloured(study))
    return (
        f"Mean over seeds, and its {statistics.described(*_shown(study))}; a seed without a number,"
        f" such as the precision of no shift, is left out.{grey}"
    )


def _shown(study: StudyResults) -> list[str]:
    study.require_metrics("regime-detection", *FACTS.uses)
    return [metric for metric in DETECTION if metric in study.metrics]


def _title(metric: str) -> str:
    return metric.removeprefix("shift_")

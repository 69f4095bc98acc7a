"""Recall, precision and delay of shift detection over the cells of a study with axes."""

from __future__ import annotations

from matplotlib.figure import Figure

from shiftbench.config import components
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _regime_lines, _regimes
from shiftbench.evaluation.artefacts._regimes import DETECTION
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(uses=("shift_recall", "shift_precision"), study=("axes",))


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw a row of panels per metric. Raises UserError without axes or metrics."""
    grid = _regimes.grid(study, "regime-detection")
    rows = [_regime_lines.of_metric(study, name, _title(name)) for name in _shown(study)]
    return _regime_lines.draw(study, grid, rows, caption(study))


def caption(study: StudyResults) -> str:
    """Describe the numbers, the number of runs and the reductions."""
    metrics = _shown(study)
    summaries = {name: components.summary("metrics", name).rstrip(".") for name in metrics}
    named = [f"{_title(name)}: {text[0].lower()}{text[1:]}" for name, text in summaries.items()]
    return (
        f"{'; '.join(named)}. Mean over seeds, and its {statistics.described(*metrics)}; a seed "
        f"without a number, such as the precision of no shift, is left out. {study.budget()}"
    )


def _shown(study: StudyResults) -> list[str]:
    study.require_metrics("regime-detection", *FACTS.uses)
    return [metric for metric in DETECTION if metric in study.metrics]


def _title(metric: str) -> str:
    return metric.removeprefix("shift_")

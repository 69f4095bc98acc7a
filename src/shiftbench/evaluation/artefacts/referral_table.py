"""AUC with none to 30 % of the rows referred, calibration, and what becomes of both under shift.

farquhar2020radial, Table 1, beside its numbers where the study is on its data; then further scores
of predictions that the study has.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from shiftbench.config import bibliography
from shiftbench.evaluation import table_files
from shiftbench.evaluation.scoring import paper_numbers, statistics
from shiftbench.evaluation.scoring.results import StudyResults

KIND = "table"
USES = ("accuracy_at_30",)
KEEPS = ("predictions",)

AREAS = ("auc", "auc_at_10", "auc_at_20", "auc_at_30")
"""Columns of Table 1, where the study has the metric."""
FURTHER = {
    "accuracy": (100, 1),
    "accuracy_at_30": (100, 1),
    "nll": (1, 3),
    "brier": (1, 4),
    "ece": (100, 1),
    "misclassification_auc": (100, 1),
    "new_segment_accuracy": (100, 1),
    "new_segment_accuracy_at_30": (100, 1),
    "new_segment_brier": (1, 4),
    "new_segment_ece": (100, 1),
    "ood_auc": (100, 1),
    "ood_auc_entropy": (100, 1),
}
"""Further columns, where the study has the metric: factor of the scores, and decimals."""


def tabulate(study: StudyResults) -> pd.DataFrame:
    """One row a stream and learner; "mean [95 % interval]", areas, accuracies and ECE in percent.

    *_paper: what the paper prints, mean ± its spread. UserError where a metric is missing.
    """
    study.require_metrics("referral-table", *USES)
    rows = [_row(study, stream, learner) for stream in study.streams for learner in study.learners]
    frame = pd.DataFrame(rows)
    # A column that says the same in every row says nothing.
    optional = [name for name in frame if name == "stream" or str(name).endswith("_paper")]
    return frame.drop(columns=[name for name in optional if frame[name].nunique() == 1])


def caption(study: StudyResults) -> str:
    """What the columns are, on how many runs, and what is cut."""
    shown = [name for name in (*AREAS, *FURTHER) if name in study.metrics]
    new = any(name.startswith("new_segment") for name in shown)
    apart = any(name.startswith("ood") for name in shown)
    of_new = (
        " new_segment: of rows of new segments, before anything of these is learnt." if new else ""
    )
    of_ood = (
        " ood_auc: area under the ROC curve of mutual information, ood_auc_entropy of entropy, for"
        " rows of a new segment against test rows of the one just learnt, %; 50 is chance."
        if apart
        else ""
    )
    return (
        f"As {bibliography.short('farquhar2020radial')}, Table 1. Mean over seeds, in brackets its"
        f" {statistics.described(*shown)}. On test rows of a task, predicted after it; mean over"
        " tasks. auc: area under the ROC curve, %; accuracy: %; _at_10"
        " to _at_30: of what is kept when so many % of the rows are referred, those of largest"
        " mutual information of parameters and class (for point estimates, which have none, by"
        " lot). misclassification_auc: that of entropy for wrong rows, %. ece: 15 bins, %."
        f"{of_new}{of_ood} -: not known, or a class is missing in what is kept. {study.budget()}"
    )


def _row(study: StudyResults, stream: str, learner: str) -> dict[str, object]:
    areas = [name for name in AREAS if name in study.metrics]
    shown = {name: _cell(study, stream, learner, name, 100, 1) for name in areas}
    further = {
        name: _cell(study, stream, learner, name, factor, decimals)
        for name, (factor, decimals) in FURTHER.items()
        if name in study.metrics
    }
    paper = {f"{name}_paper": _printed(study.published(stream, learner, name)) for name in areas}
    runs = max(statistics.interval(study.score(stream, learner, name)).n for name in study.metrics)
    return {
        "stream": stream,
        "method": study.label(learner),
        "runs": runs,
        **shown,
        **paper,
        **further,
    }


def _cell(
    study: StudyResults, stream: str, learner: str, metric: str, factor: float, decimals: int
) -> str:
    values = study.score(stream, learner, metric)
    of_seeds = statistics.interval(values, statistics.bounds(metric)).times(factor)
    if not of_seeds.n:
        return ""
    mean, low, high = (f"{number:.{decimals}f}" for number in of_seeds[:1] + of_seeds[2:4])
    return mean if np.isnan(of_seeds.low) else f"{mean} [{low}, {high}]"


def _printed(number: paper_numbers.Number | None) -> str:
    if number is None or number.shown is None:
        return number.note if number else ""
    return table_files.plus_minus(100 * number.mean, 100 * number.spread)

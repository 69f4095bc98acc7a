"""AUC with none to 30 % of the rows referred, and calibration, also under shift.

farquhar2020radial, Table 1, beside its numbers if the study is on its data; then further scores of
predictions that the study has.
"""

from __future__ import annotations

import pandas as pd

from shiftbench.config import bibliography
from shiftbench.core.facts import Facts
from shiftbench.evaluation import table_files
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(uses=("accuracy_at_30",), study=("predictions",))

AREAS = ("auc", "auc_at_10", "auc_at_20", "auc_at_30")
"""Columns of Table 1, if the study has the metric."""
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
"""Further columns, if the study has the metric: factor of the scores, and decimals."""


def tabulate(study: StudyResults) -> pd.DataFrame:
    """Return one row per stream and method; "mean [95 % interval]"; areas, shares in percent.

    *_paper: number of the paper, mean ± its spread. Raises UserError without one of the metrics.
    """
    study.require_metrics("referral-table", *FACTS.uses)
    rows = [_row(study, stream, method) for stream in study.streams for method in study.methods]
    frame = pd.DataFrame(rows)
    optional = [name for name in frame if name == "stream" or str(name).endswith("_paper")]
    return table_files.without_constant(frame, optional)


def caption(study: StudyResults) -> str:
    """Describe the columns, the number of runs and the reductions."""
    shown = [name for name in (*AREAS, *FURTHER) if name in study.metrics]
    new = any(name.startswith("new_segment") for name in shown)
    ood = any(name.startswith("ood") for name in shown)
    of_new = (
        " new_segment: of rows of new segments, before anything of these is learnt." if new else ""
    )
    of_ood = (
        " ood_auc: area under the ROC curve of mutual information, ood_auc_entropy of entropy, for"
        " rows of a new segment against test rows of the one just learnt, %; 50 is chance."
        if ood
        else ""
    )
    return (
        f"As {bibliography.short('farquhar2020radial')}, Table 1. Mean over seeds, in brackets its"
        f" {statistics.described(*shown)}. On test rows of a task, predicted after it; mean over"
        " tasks. auc: area under the ROC curve, %; accuracy: %; _at_10"
        " to _at_30: of what is kept when so many % of the rows are referred, those of largest"
        " mutual information of parameters and class (for point estimates, which have none, by"
        " lot). misclassification_auc: that of entropy for wrong rows, %. ece: 15 bins, %."
        f"{of_new}{of_ood} -: not known, or a class is missing in what is kept. {study.basis()}"
    )


def _row(study: StudyResults, stream: str, method: str) -> dict[str, object]:
    areas = [name for name in AREAS if name in study.metrics]
    cells = {
        name: table_files.mean_and_interval(
            study.score(stream, method, name), name, factor, decimals
        )
        for name, (factor, decimals) in (dict.fromkeys(AREAS, (100, 1)) | FURTHER).items()
        if name in study.metrics
    }
    paper = {
        f"{name}_paper": table_files.published_percent(study.published(stream, method, name))
        for name in areas
    }
    runs = max(statistics.interval(study.score(stream, method, name)).n for name in study.metrics)
    return {
        "stream": stream,
        "method": study.label(method),
        "runs": runs,
        **{name: cells.pop(name) for name in areas},
        **paper,
        **cells,
    }

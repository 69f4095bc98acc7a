"""Metrics of predictions that a run kept row by row: referral, calibration, and new segments.

farquhar2020radial (Table 1, D.1) refers the rows of largest mutual information between the
parameters and the class. Scores of a task are of its test rows, predicted after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np
import xarray as xr

from shiftbench.config import provenance
from shiftbench.core.metric import Metric
from shiftbench.evaluation.scoring import predictions, referral
from shiftbench.evaluation.scoring.predictions import PredictedRows
from shiftbench.evaluation.scoring.referral import Score


def after_tasks(
    run: xr.Dataset, stream: xr.Dataset, *, measure: Score, share: float | None = None
) -> np.ndarray:
    """Return the mean over tasks [seed] of a measure of each task's test rows.

    share: the share of rows that is referred first. NaN where a task's measure is NaN, as is the
    AUC without one of the classes. UserError where the rows of a task are all of one class.
    """
    name = provenance.spec(run)["stream"]["name"]
    scores = []
    for seed, tasks in zip(run["seed"].values, predictions.tested(run), strict=True):
        for task, rows in enumerate(tasks):
            referral.refuse_one_class(rows, f"stream {name}, seed {seed}, task {task}")
        scores.append([measure(_not_referred(rows, share)) for rows in tasks])
    return _means(scores)


def new_segments(
    run: xr.Dataset, stream: xr.Dataset, *, measure: Score, share: float | None = None
) -> np.ndarray:
    """Return a measure [seed] of the rows of all first tasks of new segments together.

    They are predicted before they are learnt: trained on one segment, judged on the next. share:
    the share of rows that is referred first. UserError where a seed sees no shift.
    """
    return np.array(
        [measure(_not_referred(rows, share)) for rows in predictions.new_rows(run, stream)], float
    )


def ood_auc(run: xr.Dataset, stream: xr.Dataset, *, by: str) -> np.ndarray:
    """Return the mean over shifts [seed] of the area under the ROC curve of an uncertainty.

    It is for telling the rows of the first task of a segment, before they are learnt, from the
    test rows of the task before, just learnt; 0.5 is chance. A learner that widens its posterior
    before each task is more uncertain there, shift or none. NaN without shifts.
    """
    return _means(
        [referral.novelty(shift, by) for shift in shifts]
        for shifts in predictions.shifts(run, stream)
    )


def misclassification_auc(rows: PredictedRows) -> float:
    """Return the area under the ROC curve of the entropy for errors; 0.5 is chance.

    NaN where all rows are right, or all wrong.
    """
    return referral.auc_of(rows.entropy, ~rows.correct)


def mutual_information(rows: PredictedRows) -> float:
    """Return the mean mutual information of the parameters and the class, in nats.

    The entropy of the mean of draws minus the mean of their entropies; 0 for point estimates.
    """
    return float(rows.mutual_information.mean())


def _not_referred(rows: PredictedRows, share: float | None) -> PredictedRows:
    return rows if share is None else referral.kept(rows, share)


def _means(values: Iterable[list[float]]) -> np.ndarray:
    return np.array([np.mean(each) if each else np.nan for each in values], float)


OfRows = partial(Metric, stage="run", judges=("categorical",), study=("predictions",))
OfTests = partial(OfRows, requires=("tests",))
OfShifts = partial(OfRows, requires=("tests", "shifts"))
OfNewRows = partial(OfRows, requires=("shifts",))
UNIT_INTERVAL = (0.0, 1.0)
METRICS = [
    OfTests(
        "auc",
        about="Area under the ROC curve of the class probabilities, on all test rows.",
        unit="fraction",
        bounds=UNIT_INTERVAL,
        better="higher",
        score=partial(after_tasks, measure=referral.auc),
    ),
    OfTests(
        "auc_at_10",
        about="AUC of what is kept when 10 % of the test rows are referred.",
        unit="fraction",
        bounds=UNIT_INTERVAL,
        better="higher",
        score=partial(after_tasks, measure=referral.auc, share=0.1),
    ),
    OfTests(
        "auc_at_20",
        about="AUC of what is kept when 20 % of the test rows are referred.",
        unit="fraction",
        bounds=UNIT_INTERVAL,
        better="higher",
        score=partial(after_tasks, measure=referral.auc, share=0.2),
    ),
    OfTests(
        "auc_at_30",
        about="AUC of what is kept when 30 % of the test rows are referred.",
        unit="fraction",
        bounds=UNIT_INTERVAL,
        better="higher",
        score=partial(after_tasks, measure=referral.auc, share=0.3),
    ),
    OfTests(
        "accuracy_at_30",
        about="Accuracy on what is kept when 30 % of the test rows are referred.",
        unit="fraction",
        bounds=UNIT_INTERVAL,
        better="higher",
        score=partial(after_tasks, measure=referral.accuracy, share=0.3),
    ),
    OfTests(
        "brier",
        about="Brier score: mean squared distance of class probabilities and truth, on test rows.",
        unit="squared probability",
        bounds=UNIT_INTERVAL,
        better="lower",
        score=partial(after_tasks, measure=referral.brier),
    ),
    OfTests(
        "misclassification_auc",
        about="How well the entropy of a prediction tells which test rows are wrong.",
        unit="fraction",
        bounds=UNIT_INTERVAL,
        better="higher",
        score=partial(after_tasks, measure=misclassification_auc),
    ),
    OfTests(
        "mutual_information",
        about="Mean mutual information of the parameters and the class, on test rows.",
        unit="nat",
        bounds=(0.0, None),
        better=None,
        score=partial(after_tasks, measure=mutual_information),
    ),
    OfShifts(
        "ood_auc",
        about="How well mutual information tells rows of a new segment from those learnt.",
        unit="fraction",
        bounds=UNIT_INTERVAL,
        better="higher",
        score=partial(ood_auc, by="mutual_information"),
    ),
    OfShifts(
        "ood_auc_entropy",
        about="How well entropy tells rows of a new segment from those learnt.",
        unit="fraction",
        bounds=UNIT_INTERVAL,
        better="higher",
        score=partial(ood_auc, by="entropy"),
    ),
    OfNewRows(
        "new_segment_accuracy",
        about="Accuracy on rows of a new segment, before anything of it is learnt.",
        unit="fraction",
        bounds=UNIT_INTERVAL,
        better="higher",
        score=partial(new_segments, measure=referral.accuracy),
    ),
    OfNewRows(
        "new_segment_accuracy_at_30",
        about="Accuracy on rows of a new segment when 30 % of them are referred.",
        unit="fraction",
        bounds=UNIT_INTERVAL,
        better="higher",
        score=partial(new_segments, measure=referral.accuracy, share=0.3),
    ),
    OfNewRows(
        "new_segment_brier",
        about="Brier score on rows of a new segment, before anything of it is learnt.",
        unit="squared probability",
        bounds=UNIT_INTERVAL,
        better="lower",
        score=partial(new_segments, measure=referral.brier),
    ),
    OfNewRows(
        "new_segment_ece",
        about="Expected calibration error on rows of a new segment, before it is learnt.",
        unit="fraction",
        bounds=UNIT_INTERVAL,
        better="lower",
        score=partial(new_segments, measure=referral.calibration_error),
    ),
]

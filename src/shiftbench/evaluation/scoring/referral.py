"""Scores of a learner on the rows that remain when the most uncertain ones are referred.

Source: farquhar2020radial, Table 1: the area under the ROC curve when 0 to 30 % of the images, of
which the model is least certain, go to experts; leibig2017retinopathy has the curve. Rows of equal
uncertainty, as all are for the mutual information of a point estimate, are referred in an order
drawn once, so that the order of the data does not decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring import calibration_error as calibration
from shiftbench.evaluation.scoring.predictions import PredictedRows, RowsAtShift

BY = {"mutual information": "mutual_information", "entropy": "entropy"}
"""Uncertainties to refer by, with the attributes of `PredictedRows` that hold them."""

Score = Callable[[PredictedRows], float]


def kept(rows: PredictedRows, share: float, by: str = "mutual_information") -> PredictedRows:
    """Return n rows without the round(share n) of largest uncertainty."""
    uncertainty = getattr(rows, by)
    tie_breaker = seeds.generator(seeds.fold("referral", "ties")).permutation(len(uncertainty))
    order = np.lexsort((tie_breaker, uncertainty))
    left = order[: len(order) - round(share * len(order))]
    return PredictedRows(*(array[left] for array in rows))


def auc(rows: PredictedRows) -> float:
    """Return the area under the ROC curve; of several classes the mean of each against the rest.

    NaN where a class is missing among the rows.
    """
    from sklearn.metrics import roc_auc_score  # half a second, which few studies need

    classes = rows.probability.shape[1]
    if len(np.unique(rows.target)) < classes:
        return np.nan
    if classes == 2:
        return float(roc_auc_score(rows.target, rows.probability[:, 1]))
    return float(roc_auc_score(rows.target, rows.probability, multi_class="ovr"))


def accuracy(rows: PredictedRows) -> float:
    """Return the share of rows whose most probable class is true; NaN without rows."""
    return float(rows.correct.mean()) if len(rows.target) else np.nan


def brier(rows: PredictedRows) -> float:
    """Return half the squared distance of probabilities and truth, mean over rows, in [0, 1].

    For two classes, the squared distance of the second one alone. NaN without rows.
    """
    if not len(rows.target):
        return np.nan
    truth = np.eye(rows.probability.shape[1], dtype=rows.probability.dtype)[rows.target]
    return float(((truth - rows.probability) ** 2).sum(axis=1).mean() / 2)


def calibration_error(rows: PredictedRows) -> float:
    """Return the metric `ece` of these rows; NaN without rows."""
    return calibration.calibration_error(rows.confidence, rows.correct)


def auc_of(score: np.ndarray, positive: np.ndarray) -> float:
    """Return the area under the ROC curve of a score [n] for a truth [n] bool.

    NaN where all rows are true or all false.
    """
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(positive, score)) if 0 < positive.sum() < len(positive) else np.nan


def novelty(shift: RowsAtShift, by: str = "mutual_information") -> float:
    """Return the area under the ROC curve of an uncertainty for rows of a new segment.

    Against test rows of the segment that was learnt.
    """
    uncertainty = [getattr(rows, by) for rows in shift]
    positive = np.repeat([True, False], [len(values) for values in uncertainty])
    return auc_of(np.concatenate(uncertainty), positive)


def curves(
    sets: list[list[PredictedRows]], shares: Sequence[float], by: str, score: Score
) -> np.ndarray:
    """Return a score [seed, share] of what is left when shares are referred, mean over sets.

    sets: of each seed the sets of rows.
    """
    scores = [
        [[score(kept(rows, share, by)) for share in shares] for rows in of_seed] for of_seed in sets
    ]
    return np.array([np.mean(of_seed, axis=0) for of_seed in scores]).reshape(-1, len(shares))


def refuse_one_class(rows: PredictedRows, where: str) -> PredictedRows:
    """Return the rows; UserError where all are of one class, which no referral can be judged on."""
    classes = np.unique(rows.target)
    if len(classes) < 2:
        only = (
            f"all {len(rows.target)} are of class {classes[0]}" if len(classes) else "there is none"
        )
        raise UserError(
            f"{where}: referral is judged on rows of two classes at least, but {only}; take more"
            " test rows, or a stream whose classes are less rare"
        )
    return rows

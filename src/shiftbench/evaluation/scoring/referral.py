"""What a learner is worth on the rows that are left when the most uncertain are referred.

Source: farquhar2020radial, Table 1: the area under the ROC curve when 0 to 30 % of the images, of
which the model is least certain, go to experts; leibig2017retinopathy has the curve. Rows of equal
uncertainty, as all are for the mutual information of a point estimate, are referred in an order
drawn once, so that no order of the data decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring import calibration_error as calibration
from shiftbench.evaluation.scoring.predictions import Rows, Shift

BY = {"mutual information": "mutual_information", "entropy": "entropy"}
"""By what rows are referred, and the attribute of `Rows` that has it."""

Score = Callable[[Rows], float]


def kept(rows: Rows, share: float, by: str = "mutual_information") -> Rows:
    """What is left of n rows without the round(share n) of largest uncertainty."""
    uncertainty = getattr(rows, by)
    lot = seeds.generator(seeds.fold("referral", "ties")).permutation(len(uncertainty))
    order = np.lexsort((lot, uncertainty))
    left = order[: len(order) - round(share * len(order))]
    return Rows(*(array[left] for array in rows))


def auc(rows: Rows) -> float:
    """Area under the ROC curve; of several classes the mean of each against the rest.

    NaN where a class is missing among the rows, which then have no such area.
    """
    from sklearn.metrics import roc_auc_score  # half a second, which few studies need

    classes = rows.probability.shape[1]
    if len(np.unique(rows.target)) < classes:
        return np.nan
    if classes == 2:
        return float(roc_auc_score(rows.target, rows.probability[:, 1]))
    return float(roc_auc_score(rows.target, rows.probability, multi_class="ovr"))


def accuracy(rows: Rows) -> float:
    """Share of rows whose most probable class is true; NaN without rows."""
    return float(rows.correct.mean()) if len(rows.target) else np.nan


def brier(rows: Rows) -> float:
    """Half the squared distance of probabilities and truth, mean over rows: in [0, 1], and of two
    classes that of the second one alone. NaN without rows.
    """
    from sklearn.metrics import brier_score_loss

    if not len(rows.target):
        return np.nan
    labels = range(rows.probability.shape[1])
    pair = (rows.target, rows.probability)
    return float(brier_score_loss(*pair, labels=labels, scale_by_half=True))


def calibration_error(rows: Rows) -> float:
    """The metric `ece` of these rows; NaN without rows."""
    correct = rows.probability.argmax(axis=-1) == rows.target
    return calibration.calibration_error(rows.probability.max(axis=-1), correct)


def ranking(score: np.ndarray, positive: np.ndarray) -> float:
    """Area under the ROC curve of a score [n] for a truth [n] bool; NaN where all are alike."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(positive, score)) if 0 < positive.sum() < len(positive) else np.nan


def novelty(shift: Shift, by: str = "mutual_information") -> float:
    """How well an uncertainty tells rows of a new segment from test rows of the one learnt."""
    uncertainty = [getattr(rows, by) for rows in shift]
    positive = np.repeat([True, False], [len(one) for one in uncertainty])
    return ranking(np.concatenate(uncertainty), positive)


def curves(sets: list[list[Rows]], shares: Sequence[float], by: str, score: Score) -> np.ndarray:
    """A score [seed, share] of what is kept when a share of rows is referred, mean over sets."""
    found = [[[score(kept(one, share, by)) for share in shares] for one in of] for of in sets]
    return np.array([np.mean(of_seed, axis=0) for of_seed in found]).reshape(-1, len(shares))


def refuse_one_class(rows: Rows, where: str) -> Rows:
    """The rows; UserError where they are of one class, on which no referral can be judged."""
    found = np.unique(rows.target)
    if len(found) < 2:
        known = f"all {len(rows.target)} are of class {found[0]}" if len(found) else "there is none"
        raise UserError(
            f"{where}: referral is judged on rows of two classes at least, but {known}; take more"
            " test rows, or a stream whose classes are less rare"
        )
    return rows

"""Predictions of classes that runs kept row by row, and their uncertainty.

For studies with `keeps: [predictions]`. Entropy is that of the predicted class probabilities. The
mutual information of the parameters and the class, by which farquhar2020radial (D.1) refers, is
the entropy minus the mean entropy of a draw: 0 without draws or members.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.special import entr

from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring import shift_matching

RESOLUTION = 1e-6
"""Nats of mutual information below which single precision shows only rounding errors."""

TESTED, LEARNT, NEW = "test rows", "test rows of the segment learnt", "rows of the next segment"
"""Sets of rows: test rows after each task; test rows of the last task before a shift, after it;
rows of the first task after a shift, before it."""


class PredictedRows(NamedTuple):
    """Predictions of n rows of one seed: probabilities [n, class], classes [n], nats [n]."""

    probability: np.ndarray
    target: np.ndarray
    expected_entropy: np.ndarray

    @property
    def predicted(self) -> np.ndarray:
        """The most probable class [n]."""
        return self.probability.argmax(axis=1)

    @property
    def confidence(self) -> np.ndarray:
        """The probability of the most probable class [n]."""
        return self.probability.max(axis=1)

    @property
    def correct(self) -> np.ndarray:
        """Flags of rows whose most probable class is true [n]."""
        return self.predicted == self.target

    @property
    def entropy(self) -> np.ndarray:
        """The entropy of the predicted classes [n], in nats."""
        return entr(self.probability).sum(axis=1)

    @property
    def mutual_information(self) -> np.ndarray:
        """Mutual information of the parameters and the class [n], in nats; 0 below rounding."""
        left = self.entropy - self.expected_entropy
        return np.where(left < RESOLUTION, 0.0, left)


class RowsAtShift(NamedTuple):
    """PredictedRows around the start of a new segment.

    new: rows of its first task, predicted before they are learnt. learnt: test rows of the task
    before, which was just learnt.
    """

    new: PredictedRows
    learnt: PredictedRows


def tested(run: xr.Dataset) -> list[list[PredictedRows]]:
    """Return the test rows of each seed and task, predicted after the task."""
    return [[_rows(run, "after", s, t) for t in _tasks(run)] for s in range(run.sizes["seed"])]


def before(run: xr.Dataset, s: int, t: int) -> PredictedRows:
    """Return the training rows of a seed's task, predicted before it, by positions s and t."""
    return _rows(run, "before", s, t)


def shifts(run: xr.Dataset, stream: xr.Dataset) -> list[list[RowsAtShift]]:
    """Return, of each seed, the rows around each shift of its stream after the first task."""
    true = shift_matching.truth(run, stream)
    return [
        [
            RowsAtShift(_rows(run, "before", s, t), _rows(run, "after", s, t - 1))
            for t in np.flatnonzero(true[s]).tolist()
            if t > 0
        ]
        for s in range(run.sizes["seed"])
    ]


def new_rows(run: xr.Dataset, stream: xr.Dataset) -> list[PredictedRows]:
    """Return, of each seed, the rows of the first tasks of all its new segments together.

    UserError where a seed sees no shift.
    """
    at_shifts = shifts(run, stream)
    if not all(at_shifts):
        raise UserError(
            "the stream has one segment, so there are no rows of new ones; give it more tasks, or"
            " take the metrics and figures of new segments out of the study"
        )
    return [pooled([shift.new for shift in of_seed]) for of_seed in at_shifts]


def sets(run: xr.Dataset, stream: xr.Dataset) -> dict[str, list[list[PredictedRows]]]:
    """Return the rows to judge a learner on: by name, for each seed the sets to average over.

    Test rows after each task. On a stream with shifts, the rows around these, so that the same
    state of a learner predicts rows of the segment that it has learnt and of the next.
    """
    if "shift" not in stream or not shift_matching.truth(run, stream)[:, 1:].any():
        return {TESTED: tested(run)}
    around = shifts(run, stream)
    return {
        LEARNT: [[shift.learnt for shift in each] for each in around],
        NEW: [[shift.new for shift in each] for each in around],
    }


def pooled(rows: list[PredictedRows]) -> PredictedRows:
    """Concatenate sets of rows."""
    return PredictedRows(*(np.concatenate(arrays) for arrays in zip(*rows, strict=True)))


def _tasks(run: xr.Dataset) -> range:
    return range(run.sizes["task"])


def _rows(run: xr.Dataset, moment: str, s: int, t: int) -> PredictedRows:
    """Return the rows of a seed and task that are not masked, in double precision."""
    place = {"seed": s, "task": t}
    if f"{moment}_target" not in run:
        raise UserError(
            "this run kept no predictions of its rows; add `keeps: [predictions]` to the study and"
            " run it again"
        )
    target = run[f"{moment}_target"].isel(place).values
    present = target >= 0  # false for NaN, where blocks of seeds differ in their number of rows
    probability, expected = (
        run[f"{moment}_{name}"].isel(place).values[present].astype(float)
        for name in ("probability", "expected_entropy")
    )
    # Rounded to single precision, they add up to 1 only after another division.
    whole = probability / probability.sum(axis=1, keepdims=True)
    return PredictedRows(whole, target[present].astype(int), expected)

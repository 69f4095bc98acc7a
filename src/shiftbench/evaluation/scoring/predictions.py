"""Predictions of classes that runs kept row by row, seed by seed, and how uncertain they are.

Of a study with `keeps: [predictions]`. Entropy is that of the predicted class probabilities; the
mutual information of the parameters and the class, which farquhar2020radial (D.1) refers by, is
what of it is left when the mean entropy of a draw is taken away. It is 0 without draws or members.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.special import entr

from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring import shift_matching

RESOLUTION = 1e-6
"""Nats of mutual information below which single precision has rounding alone."""

TESTED, LEARNT, NEW = "test rows", "test rows of the segment learnt", "rows of the next segment"
"""Sets of rows: each predicted after its task; of the last task before a shift, after it; and of
the first task after a shift, before it."""


class Rows(NamedTuple):
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
        """Whether the most probable class is true [n]."""
        return self.predicted == self.target

    @property
    def entropy(self) -> np.ndarray:
        """Of the predicted classes [n], in nats."""
        return entr(self.probability).sum(axis=1)

    @property
    def mutual_information(self) -> np.ndarray:
        """Of the parameters and the class [n], in nats; 0 where there is rounding alone."""
        left = self.entropy - self.expected_entropy
        return np.where(left < RESOLUTION, 0.0, left)


class Shift(NamedTuple):
    """Around the begin of a new segment: rows of its first task, predicted before they are
    learnt, and test rows of the task before, which was just learnt."""

    new: Rows
    learnt: Rows


def tested(run: xr.Dataset) -> list[list[Rows]]:
    """Of each seed and task, its test rows, predicted after the task."""
    return [[_rows(run, "after", s, t) for t in _tasks(run)] for s in range(run.sizes["seed"])]


def shifts(run: xr.Dataset, stream: xr.Dataset) -> list[list[Shift]]:
    """Of each seed, what surrounds each shift of its stream but one before the first task."""
    true = shift_matching.truth(run, stream)
    return [
        [
            Shift(_rows(run, "before", s, t), _rows(run, "after", s, t - 1))
            for t in np.flatnonzero(true[s]).tolist()
            if t > 0
        ]
        for s in range(run.sizes["seed"])
    ]


def new_rows(run: xr.Dataset, stream: xr.Dataset) -> list[Rows]:
    """Of each seed, the rows of the first tasks of its new segments together.

    UserError where a seed sees no shift.
    """
    found = shifts(run, stream)
    if not all(found):
        raise UserError(
            "the stream has one segment, so there are no rows of new ones; give it more tasks, or"
            " take the metrics and figures of new segments out of the study"
        )
    return [pooled([shift.new for shift in each]) for each in found]


def sets(run: xr.Dataset, stream: xr.Dataset) -> dict[str, list[list[Rows]]]:
    """What rows a learner is judged on, by name: of each seed the sets that a mean is taken over.

    Test rows after each task. Where the stream has shifts, what surrounds these, so that the same
    state of a learner predicts rows of the segment that it knows and of the next.
    """
    if "shift" not in stream or not shift_matching.truth(run, stream)[:, 1:].any():
        return {TESTED: tested(run)}
    around = shifts(run, stream)
    return {
        LEARNT: [[shift.learnt for shift in each] for each in around],
        NEW: [[shift.new for shift in each] for each in around],
    }


def pooled(rows: list[Rows]) -> Rows:
    """Several rows as one."""
    return Rows(*(np.concatenate(arrays) for arrays in zip(*rows, strict=True)))


def _tasks(run: xr.Dataset) -> range:
    return range(run.sizes["task"])


def _rows(run: xr.Dataset, moment: str, s: int, t: int) -> Rows:
    """The rows of a seed and task that are not masked, in double precision."""
    place = {"seed": s, "task": t}
    if f"{moment}_target" not in run:
        raise UserError(
            "this run kept no predictions of its rows; add `keeps: [predictions]` to the study and"
            " run it again"
        )
    target = run[f"{moment}_target"].isel(place).values
    there = target >= 0  # NaN, where blocks of seeds differ in rows, is not
    probability, expected = (
        run[f"{moment}_{name}"].isel(place).values[there].astype(float)
        for name in ("probability", "expected_entropy")
    )
    # In double precision they add up to 1 only when divided anew.
    whole = probability / probability.sum(axis=1, keepdims=True)
    return Rows(whole, target[there].astype(int), expected)

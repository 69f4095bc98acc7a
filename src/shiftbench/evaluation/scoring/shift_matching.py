"""True and inferred shifts, and their one-to-one matches within a margin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring import realisations, segmentation


class MatchCounts(NamedTuple):
    """Numbers of shifts of each seed [seed]: matched one to one, inferred, true."""

    matched: np.ndarray
    inferred: np.ndarray
    true: np.ndarray


def counts(run: xr.Dataset, stream: xr.Dataset, margin: int) -> MatchCounts | None:
    """Count the shifts of the most likely history at the end against the truth.

    None if the learner makes no decisions about shifts.
    """
    inferred = segmentation.inferred(run)
    return None if inferred is None else compared(inferred, truth(run, stream), margin)


def compared(inferred: np.ndarray, true: np.ndarray, margin: int) -> MatchCounts:
    """Count inferred and true shifts, [seed, task] bool each.

    A shift is matched if it lies within `margin` tasks of a true one that no other shift
    is matched with.
    """
    matched = [count_matched(a, b, margin) for a, b in zip(inferred, true, strict=True)]
    return MatchCounts(np.array(matched, dtype=int), inferred.sum(axis=1), true.sum(axis=1))


def truth(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the true shifts [seed, task] bool of the realisations that a run's seeds saw."""
    return realisations.of_seeds(run, stream["shift"]).astype(bool)


def mean_segment(marks: Sequence[np.ndarray]) -> int:
    """Return the mean length of a segment, rounded; marks: true shifts [sequence, place] each."""
    segments = sum(one.shape[0] + int(one[:, 1:].sum()) for one in marks)
    return max(1, round(sum(one.size for one in marks) / segments))


def count_matched(inferred: np.ndarray, true: np.ndarray, margin: int) -> int:
    """Return the size of the largest one-to-one matching of two sets of tasks [task] bool.

    Taking the earliest pair within the margin each time is optimal on a line.
    """
    left, right = np.flatnonzero(inferred).tolist(), np.flatnonzero(true).tolist()
    matched = 0
    while left and right:
        if abs(left[0] - right[0]) <= margin:
            matched += 1
            left.pop(0)
            right.pop(0)
        elif left[0] < right[0]:
            left.pop(0)
        else:
            right.pop(0)
    return matched


def precision(counts: MatchCounts) -> np.ndarray:
    """Return the share of the inferred shifts that are matched [seed]; NaN without any."""
    return ratio(counts.matched, counts.inferred)


def recall(counts: MatchCounts) -> np.ndarray:
    """Return the share of the true shifts that are matched [seed]; NaN without any."""
    return ratio(counts.matched, counts.true)


def f1(counts: MatchCounts) -> np.ndarray:
    """Return 2 matched / (inferred + true) [seed]; NaN where there are neither.

    The F1 of the counts summed over all seeds is another number, larger as a rule.
    """
    return ratio(2 * counts.matched, counts.inferred + counts.true)


def ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return part / whole [seed]; NaN where whole is 0."""
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)

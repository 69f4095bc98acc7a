"""Changepoints of a run in hindsight, and their agreement with the truth.

A run-length learner (`methods/combinators/run_length.py`) keeps after each task, for every slot,
its run length r (0: the last task is the first of its segment), its share of the run-length
posterior (`log_weight`) and the joint probability of its best history (`map_log_joint`). Both are
-inf in all slots before the first task with rows, where the first segment begins. The
most probable segmentation is read backwards: the best slot of the last task gives the start of
its segment, the best slot just before that the start of the one before, and so on
(P. Fearnhead and Z. Liu, 2007). Learners that decide at each task, such as a beam, have it in
their lineage. A learner that segments all tasks so far (`methods/learners/robust_fpop.py`) gives
the tasks since each changepoint (`rows_since_change`), of which the last ones count.

The measures of agreement are those of TCPDBench (G. J. J. van den Burg and C. K. I. Williams,
2020, arXiv:2003.06222). The truth is what annotators marked, on the values that they saw, or
the stream's `shift`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import xarray as xr

from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring import beam_lineage, realisations, run_infos


class Compared(NamedTuple):
    """Changepoints of one seed: inferred (found) [point] and true [annotator, point], bool.

    A point is a task, or one of the values that annotators saw.
    """

    found: np.ndarray
    true: np.ndarray


class RowsCounted(UserError):
    """Run lengths count rows, and tasks have several, so that no segmentation of tasks is known."""


def inferred(run: xr.Dataset) -> np.ndarray | None:
    """Return the changepoints [seed, task] bool of the most probable segmentation.

    The first task is never a changepoint. Returns None for learners that infer no changes.
    """
    if run_infos.has_lineage(run):
        return beam_lineage.shifts(run)
    if "info_rows_since_change" in run:
        return _of_last_task(run)
    return _backtracked(run) if "info_map_log_joint" in run else None


def since_shift(run: xr.Dataset) -> np.ndarray:
    """Return the tasks since the last shift of every history kept [seed, task, hypothesis].

    0 at the task that begins with the shift; at least NEVER for a history without one. For a run
    with a history (`run_infos`). UserError where run lengths count rows, and tasks have several.
    """
    if run_infos.has_lineage(run):
        return beam_lineage.since_shift(run)
    length = run_infos.values(run, "run_length").astype(int)
    empty = np.isneginf(run_infos.values(run, "log_weight"))
    _refuse_rows(np.where(empty, 0, length))
    # A segment that holds the first task with rows began without a shift.
    first = empty.all(axis=2).sum(axis=1)[:, None, None]
    without = length >= np.arange(length.shape[1])[:, None] - first
    return np.where(without, beam_lineage.NEVER, length)


def changepoints(run: xr.Dataset) -> list[np.ndarray] | None:
    """Return the inferred changepoints as task numbers, one array a seed; None without any."""
    flags = inferred(run)
    return None if flags is None else [np.flatnonzero(of_seed) for of_seed in flags]


def run_length_argmax(run: xr.Dataset) -> np.ndarray | None:
    """Return the most probable run length [seed, task] after each task, over all models.

    -1 before the first task with rows. None for learners that keep no run lengths.
    """
    if "info_run_length" not in run:
        return None
    length = run_infos.values(run, "run_length").astype(int)
    log_weight = run_infos.values(run, "log_weight")
    most_probable = np.empty(length.shape[:2], int)
    for s, task in np.ndindex(*most_probable.shape):
        total = np.bincount(length[s, task], weights=np.exp(log_weight[s, task]))
        most_probable[s, task] = total.argmax()
    return np.where(np.isneginf(log_weight).all(axis=2), -1, most_probable)


def compared(run: xr.Dataset, stream: xr.Dataset) -> list[Compared] | None:
    """Return inferred and true changepoints by seed; None where one of them is unknown."""
    return beside_truth(inferred(run), run, stream)


def beside_truth(
    flags: np.ndarray | None, run: xr.Dataset, stream: xr.Dataset
) -> list[Compared] | None:
    """Return flags [seed, task] and true changepoints by seed; None where one is unknown."""
    if flags is None or stream.attrs.get("truth") == "unknown":
        return None
    if "annotation" not in stream:
        true = realisations.of_seeds(run, stream["shift"])
        return [Compared(found, mark[None]) for found, mark in zip(flags, true, strict=True)]
    point = stream["annotated_index"].values
    true = at_points(stream["annotation"].values, point)
    return [Compared(found, true) for found in at_points(flags, point)]


def scored(
    run: xr.Dataset, stream: xr.Dataset, measure: Callable[[np.ndarray, np.ndarray], float]
) -> np.ndarray:
    """Return a measure(found, true) of each seed [seed]; NaN where one of them is unknown."""
    pairs = compared(run, stream)
    if pairs is None:
        return np.full(run.sizes["seed"], np.nan)
    return np.array([measure(*pair) for pair in pairs], dtype=float)


def f1(found: np.ndarray, true: np.ndarray, margin: int) -> float:
    """Return F1 of found [point] against true [annotator, point] changepoints.

    Precision is against what any annotator marked, recall the mean over annotators; the first
    point counts as a changepoint of all of them.
    """
    found, true = found.copy(), true.copy()
    found[0], true[:, 0] = True, True
    precision = count_found(true.any(axis=0), found, margin) / found.sum()
    recall = np.mean([count_found(one, found, margin) / one.sum() for one in true])
    return float(2 * precision * recall / (precision + recall))


def count_found(true: np.ndarray, found: np.ndarray, margin: int) -> int:
    """Return how many true changepoints have a found one within the margin, both [point] bool.

    From the first to the last each takes the nearest free one, of equals the earlier. That is
    TCPDBench's rule, but its code iterates over a Python set, in the order of hashes: for that
    alone 12 of its 546 published runs, all on the series occupancy, have another F1 than here.
    The largest matching, which needs no order, may have more pairs, and F1 would not compare with
    published numbers: one segmentation of the well-log in our tests would have 0.917, not 0.885.
    """
    free = np.flatnonzero(found).tolist()
    count = 0
    for place in np.flatnonzero(true).tolist():
        nearest = min(free, key=lambda other: (abs(other - place), other), default=None)
        if nearest is not None and abs(nearest - place) <= margin:
            free.remove(nearest)
            count += 1
    return count


def cover(found: np.ndarray, true: np.ndarray) -> float:
    """Return the covering of true by found segments, in [0, 1], mean over annotators.

    Each true segment counts with its length and the largest Jaccard index that it has with a
    found one.
    """
    return float(np.mean([_cover(found, one) for one in true]))


def false_changepoints(found: np.ndarray, true: np.ndarray, margin: int) -> int:
    """Return how many found changepoints match none of any annotator."""
    return int(found.sum()) - count_found(true.any(axis=0), found, margin)


def _backtracked(run: xr.Dataset) -> np.ndarray:
    """Read the changepoints [seed, task] bool backwards from the last task."""
    joint = run_infos.values(run, "map_log_joint")
    best = joint.argmax(axis=2)[..., None]
    length = run_infos.values(run, "run_length").astype(int)
    length = np.take_along_axis(length, best, axis=2)[..., 0]
    _refuse_rows(length[..., None])
    begun = ~np.isneginf(joint).all(axis=2)
    starts = np.zeros(length.shape, bool)
    for lengths, has_run, flags in zip(length, begun, starts, strict=True):
        start = len(lengths)
        # A warm-up makes the first run one longer.
        while start > 0 and has_run[start - 1]:
            if start < len(lengths):
                flags[start] = True
            start -= 1 + lengths[start - 1]
    return starts


def _of_last_task(run: xr.Dataset) -> np.ndarray:
    """Read the changepoints [seed, task] bool of a segmentation of all tasks, of the last one."""
    _refuse_rows(run_infos.values(run, "run_length"))
    since = run_infos.values(run, "rows_since_change")[:, -1].astype(int)
    flags = np.zeros((len(since), run.sizes["task"]), bool)
    # Neither the first task nor a value of a warm-up before it counts as a change.
    found = (since >= 0) & (since < run.sizes["task"] - 1)
    seed, slot = np.nonzero(found)
    flags[seed, run.sizes["task"] - 1 - since[seed, slot]] = True
    return flags


def _refuse_rows(length: np.ndarray) -> None:
    """Raise RowsCounted for run lengths [seed, task, slot] beyond the number of tasks so far."""
    # A warm-up, which is not a task, makes a run at most one longer.
    if (length > np.arange(length.shape[1])[:, None] + 1).any():
        raise RowsCounted(
            "segmentation: run lengths count observations, but tasks have more than one; set"
            " rows_per_task of the stream to 1, or take the metrics of segmentations out"
        )


def at_points(flags: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Return flags [..., task] by the points [task] of their tasks, [..., point]."""
    by_point = np.zeros((*flags.shape[:-1], point.max() + 1), bool)
    np.logical_or.at(by_point, (..., point), flags)
    return by_point


def _cover(found: np.ndarray, true: np.ndarray) -> float:
    of_found, of_true = np.cumsum(found[1:]), np.cumsum(true[1:])
    shared = np.zeros((true[1:].sum() + 1, found[1:].sum() + 1))
    np.add.at(shared, (np.append(0, of_true), np.append(0, of_found)), 1)
    size = shared.sum(axis=1, keepdims=True)
    jaccard = shared / (size + shared.sum(axis=0) - shared)
    return float((size[:, 0] * jaccard.max(axis=1)).sum() / len(true))

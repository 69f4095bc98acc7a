"""Where a run places changepoints, in hindsight, and how well that agrees with the truth.

A run-length learner (`methods/combinators/run_length.py`) keeps after each task, for every slot,
its run length r (0: the last observation is the first of its segment), its share of the run-length
posterior (`log_weight`) and the joint probability of its best history (`map_log_joint`). The
most probable segmentation is read backwards: the best slot of the last task tells where its
segment starts, the best slot just before that where the one before starts, and so on
(P. Fearnhead and Z. Liu, 2007). Learners that decide at each task, such as a beam, have it in
their lineage.

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
from shiftbench.evaluation.scoring import beam_lineage


class Compared(NamedTuple):
    """Changepoints of one seed: found [point] bool, true [annotator, point] bool.

    A point is a task, or one of the values that annotators saw.
    """

    found: np.ndarray
    true: np.ndarray


def inferred(run: xr.Dataset) -> np.ndarray | None:
    """Tasks [seed, task] bool with which a segment starts, in the most probable segmentation.

    The first task is none. None for learners that make no such decisions.
    """
    if beam_lineage.decides(run):
        return beam_lineage.shifts(run)
    return _backtracked(run) if "info_map_log_joint" in run else None


def changepoints(run: xr.Dataset) -> list[np.ndarray] | None:
    """The same as task numbers, one array a seed."""
    found = inferred(run)
    return None if found is None else [np.flatnonzero(one) for one in found]


def run_length_argmax(run: xr.Dataset) -> np.ndarray | None:
    """The most probable run length [seed, task] after each task, over all models together.

    None for learners that keep no run lengths.
    """
    if "info_run_length" not in run:
        return None
    length, log_weight = _info(run, "run_length").astype(int), _info(run, "log_weight")
    found = np.empty(length.shape[:2], int)
    for s, task in np.ndindex(*found.shape):
        total = np.bincount(length[s, task], weights=np.exp(log_weight[s, task]))
        found[s, task] = total.argmax()
    return found


def compared(run: xr.Dataset, stream: xr.Dataset) -> list[Compared] | None:
    """What a run found beside what is true, by seed; None where one of them is not known."""
    found = inferred(run)
    if found is None or stream.attrs.get("truth") == "unknown":
        return None
    if "annotation" not in stream:
        true = stream["shift"].values[run["realisation"].values.astype(int)]
        return [Compared(one, mark[None]) for one, mark in zip(found, true, strict=True)]
    point = stream["annotated_index"].values
    true = _placed(stream["annotation"].values, point)
    return [Compared(one, true) for one in _placed(found, point)]


def scored(
    run: xr.Dataset, stream: xr.Dataset, measure: Callable[[np.ndarray, np.ndarray], float]
) -> np.ndarray:
    """A measure of (found, true) for each seed [seed]; NaN where one of them is not known."""
    pairs = compared(run, stream)
    if pairs is None:
        return np.full(run.sizes["seed"], np.nan)
    return np.array([measure(*pair) for pair in pairs], dtype=float)


def f1(found: np.ndarray, true: np.ndarray, margin: int) -> float:
    """F1 of found [point] against true [annotator, point] changepoints.

    Precision is against what any annotator marked, recall the mean over annotators; the first
    point counts as a changepoint of all of them.
    """
    found, true = found.copy(), true.copy()
    found[0], true[:, 0] = True, True
    precision = count_found(true.any(axis=0), found, margin) / found.sum()
    recall = np.mean([count_found(one, found, margin) / one.sum() for one in true])
    return float(2 * precision * recall / (precision + recall))


def count_found(true: np.ndarray, found: np.ndarray, margin: int) -> int:
    """Number of true changepoints that have a found one within the margin, both [point] bool.

    From the first to the last each takes the nearest that none has taken, of equals the
    earlier. That is TCPDBench's rule, but its code goes through a Python set of them, in the
    order of hashes: for that alone 12 of its 546 published runs, all on the series occupancy,
    have another F1 than here. The largest matching, which needs no order, may have more pairs,
    and F1 would not compare with what is published: one segmentation of the well-log in our
    tests would have .917, not .885.
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
    """Covering of true by found segments, in [0, 1], mean over annotators.

    Each true segment counts with its length and the largest Jaccard index that it has with a
    found one.
    """
    return float(np.mean([_cover(found, one) for one in true]))


def false_changepoints(found: np.ndarray, true: np.ndarray, margin: int) -> int:
    """Number of found changepoints that match none that any annotator marked."""
    return int(found.sum()) - count_found(true.any(axis=0), found, margin)


def _backtracked(run: xr.Dataset) -> np.ndarray:
    """First tasks of segments [seed, task] bool, read backwards from the last task."""
    best = _info(run, "map_log_joint").argmax(axis=2)[..., None]
    length = np.take_along_axis(_info(run, "run_length"), best, axis=2)[..., 0].astype(int)
    tasks = length.shape[1]
    # A warm-up, which is no task, makes a run at most one longer.
    if (length > np.arange(tasks) + 1).any():
        raise UserError(
            "segmentation: run lengths count observations, but tasks have more than one; set"
            " rows_per_task of the stream to 1, or take the metrics of segmentations out"
        )
    starts = np.zeros(length.shape, bool)
    for lengths, flags in zip(length, starts, strict=True):
        start = tasks
        while start > 0:
            start -= 1 + lengths[start - 1]
            flags[start] = start > 0
    return starts


def _info(run: xr.Dataset, name: str) -> np.ndarray:
    """An info [seed, task, slot]."""
    return run[f"info_{name}"].transpose("seed", "task", "hypothesis").values


def _placed(flags: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Flags [..., task] at the points [task] where their tasks stand, [..., point]."""
    placed = np.zeros((*flags.shape[:-1], point.max() + 1), bool)
    np.logical_or.at(placed, (..., point), flags)
    return placed


def _cover(found: np.ndarray, true: np.ndarray) -> float:
    of_found, of_true = np.cumsum(found[1:]), np.cumsum(true[1:])
    shared = np.zeros((true[1:].sum() + 1, found[1:].sum() + 1))
    np.add.at(shared, (np.append(0, of_true), np.append(0, of_found)), 1)
    size = shared.sum(axis=1, keepdims=True)
    jaccard = shared / (size + shared.sum(axis=0) - shared)
    return float((size[:, 0] * jaccard.max(axis=1)).sum() / len(true))

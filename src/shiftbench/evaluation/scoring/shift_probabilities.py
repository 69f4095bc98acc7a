"""Probabilities that a task began with a shift, and whether they are calibrated.

Right after the task: the weights of the hypotheses with s = 1 for it (beams), or with run length
0 (run lengths), all as the learner normalises them over what it keeps. A window of several tasks
asks for a shift at any of its tasks, for learners that place a shift only when they have seen more.
In hindsight: the weights at the end of the hypotheses whose history has s = 1 for it; for beams
alone, since a run length at the end is of one shift only. A beam of one hypothesis is certain
either way.

The first task has no past that it could have shifted from, and is left out: [seed, task - 1].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy import stats

from shiftbench.evaluation.scoring import beam_lineage, run_infos, segmentation
from shiftbench.evaluation.scoring.statistics import LEVEL

CLIP = 1e-6
"""Distance from 0 and 1 that probabilities keep in the log score."""


def filtered(run: xr.Dataset, within: int = 1) -> np.ndarray | None:
    """Return P(shift before one of the last tasks | tasks so far) [seed, task - 1].

    within: the number of last tasks, the present one included. None for a run without weights.
    UserError where run lengths count rows, and tasks have several.
    """
    if "info_log_weight" not in run or not run_infos.has_history(run):
        return None
    recent = segmentation.since_shift(run) < within
    return np.where(recent, np.exp(run_infos.values(run, "log_weight")), 0.0).sum(axis=2)[:, 1:]


def filtered_within(run: xr.Dataset, most: int) -> np.ndarray | None:
    """Return `filtered` within 1, 2, ... `most` tasks [seed, task, most], 0 at the first task.

    None for a run without weights.
    """
    if "info_log_weight" not in run or not run_infos.has_history(run):
        return None
    since, weight = segmentation.since_shift(run), np.exp(run_infos.values(run, "log_weight"))
    shape = (*since.shape[:2], most)
    of_task = np.arange(since.shape[0] * since.shape[1]).reshape(*since.shape[:2], 1)
    recent = since < most
    place = (of_task * most + since)[recent]
    mass = np.bincount(place, weight[recent], minlength=int(np.prod(shape))).reshape(shape)
    mass[:, :1] = 0
    return mass.cumsum(axis=2)


def shifted_within(shifted: np.ndarray, within: int) -> np.ndarray:
    """Return whether one of the last tasks began with a shift, shifted [seed, task] bool."""
    before = np.pad(shifted, ((0, 0), (within - 1, 0)))
    return np.lib.stride_tricks.sliding_window_view(before, within, axis=1).any(axis=2)


def smoothed(run: xr.Dataset) -> np.ndarray | None:
    """Return P(shift before the task | all tasks) [seed, task - 1]; None without a lineage."""
    if "info_log_weight" not in run or not run_infos.has_lineage(run):
        return None
    weight = np.exp(run_infos.values(run, "log_weight")[:, -1])
    histories = np.stack([beam_lineage.shifts(run, k) for k in range(weight.shape[1])], axis=2)
    return np.where(histories, weight[:, None], 0.0).sum(axis=2)[:, 1:]


class Reliability(NamedTuple):
    """Probabilities and shares of shifts, in the bins that hold any tasks, [bin] each.

    predicted: mean probability; observed: share of tasks with a shift, low and high: its Wilson
    interval at 95 %; count: tasks.
    """

    predicted: np.ndarray
    observed: np.ndarray
    low: np.ndarray
    high: np.ndarray
    count: np.ndarray


def reliability(probability: np.ndarray, shifted: np.ndarray, bins: int) -> Reliability:
    """Bin probabilities and shifts, arrays of any shape, in bins of equal width."""
    p, observed_shifts = probability.ravel(), shifted.ravel().astype(float)
    p = np.clip(p, 0, 1)  # a sum of weights may exceed 1 by a rounding error
    within = {"bins": bins, "range": (0, 1)}
    count, _, bin_numbers = stats.binned_statistic(p, p, "count", **within)
    used = np.unique(bin_numbers) - 1
    predicted, observed, shifts = (
        stats.binned_statistic(p, values, how, **within).statistic[used]
        for values, how in ((p, "mean"), (observed_shifts, "mean"), (observed_shifts, "sum"))
    )
    ends = [
        stats.binomtest(int(k), int(n)).proportion_ci(LEVEL, "wilson")
        for k, n in zip(shifts, count[used], strict=True)
    ]
    low, high = np.array(ends).reshape(-1, 2).T
    return Reliability(predicted, observed, low, high, count[used].astype(int))


class BrierTerms(NamedTuple):
    """Terms of the Brier score: reliability - resolution + uncertainty (Murphy 1973).

    Their sum is the score but for the spread of probabilities within a bin.
    """

    reliability: float
    resolution: float
    uncertainty: float


def brier_terms(curve: Reliability) -> BrierTerms:
    """Decompose the Brier score of a reliability curve."""
    share = curve.count / curve.count.sum()
    base = float(share @ curve.observed)
    return BrierTerms(
        float(share @ (curve.predicted - curve.observed) ** 2),
        float(share @ (curve.observed - base) ** 2),
        base * (1 - base),
    )


def brier(probability: np.ndarray | None, shifted: np.ndarray) -> np.ndarray:
    """Return the mean squared difference [seed] of probability and shifted [seed, task - 1].

    NaN without probabilities.
    """
    if probability is None:
        return np.full(len(shifted), np.nan)
    # The import takes half a second, and no run without probabilities needs it.
    from sklearn.metrics import brier_score_loss

    pairs = zip(shifted, np.clip(probability, 0, 1), strict=True)
    return np.array([brier_score_loss(true, p, labels=[False, True]) for true, p in pairs], float)


def log_score(probability: np.ndarray | None, shifted: np.ndarray) -> np.ndarray:
    """Return the mean negative log probability [seed] of shifted [seed, task - 1], in nats.

    Probabilities are kept CLIP away from 0 and 1. NaN without probabilities.
    """
    if probability is None:
        return np.full(len(shifted), np.nan)
    said = np.clip(probability, CLIP, 1 - CLIP)
    return -np.where(shifted, np.log(said), np.log1p(-said)).mean(axis=1)


def base_rate(shifted: np.ndarray) -> np.ndarray:
    """Return the forecasts from the frequency of shifts so far [seed, task - 1].

    (k + 1/2) / (n + 1) after n outcomes with k shifts, the Bayes forecast under Jeffreys' prior. It
    uses no later outcome.
    """
    counts = np.cumsum(shifted, axis=1) - shifted
    return (counts + 0.5) / (np.arange(shifted.shape[1]) + 1)

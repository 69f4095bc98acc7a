"""A sentence on whether predictions are calibrated, with the remedy where they are not.

From the metric interval_coverage: about 95 % of the values of a stream lie within the central 95 %
predictive interval if predictions are calibrated. A share between 90 and 99 % counts as such, since
the first values after a change lie outside. For another share that chance explains, there are too
few tasks to tell. Seeds that see the same data count once for chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
import xarray as xr
from scipy import stats

from shiftbench.config.compatibility_words import listed
from shiftbench.evaluation.scoring import caption_notes

METRIC = "interval_coverage"
LEVEL = 0.95
"""The level of the predictive intervals whose coverage METRIC is."""
NARROW, WIDE = 0.9, 0.99
"""Shares of values below and above which intervals are too narrow, and too wide."""
CHANCE = 0.01
"""Probability, under calibrated predictions, below which a share outside counts as
miscalibrated."""
REMEDY = {
    "narrow": "the noise is set too small, or changes are missed: take a method that learns both,"
    " such as bocpd-table for a table and bocpd for a series",
    "wide": "the noise is set too large: take a method that learns it, such as bocpd-table for a"
    " table and bocpd for a series",
}


def sentence(cube: xr.Dataset, streams: Mapping[str, xr.Dataset], labels: Mapping[str, str]) -> str:
    """Say which share of the values lies within the intervals, by method; empty without METRIC.

    cube: score and score_by_task over stream, method, metric, seed and task. streams: the stores
    of the streams that the sentence is about. labels: of methods.
    """
    if METRIC not in cube["metric"].values:
        return ""
    shares: list[str] = []
    verdicts: dict[str, str] = {}
    for stream, method in product(streams, cube["learner"].values.tolist()):
        place = {"stream": stream, "learner": method, "metric": METRIC}
        by_task = cube["score_by_task"].sel(place).values
        scores = by_task[~np.isnan(by_task)]
        if scores.size:
            data = _data(streams[stream], cube["seed"].values)
            state = verdict(float(scores.mean()), _independent(by_task, data))
            where = f" on {stream}" if len(streams) > 1 else ""
            name = labels.get(method, method) + where
            of = "" if shares else " of the values"
            only = "only " if state == "narrow" else ""
            shares.append(f"{only}{100 * scores.mean():.0f} %{of} for {name}")
            verdicts[name] = state
    if not shares:
        return ""
    text = f"{', '.join(shares)} lie within the 95 % predictive interval"
    text = text[0].upper() + text[1:]
    found = list(verdicts.values())
    if not any(found):
        return f"{text}: calibrated"
    unknown = [name for name, state in verdicts.items() if state == "few"]
    remedies = [REMEDY[state] for state in dict.fromkeys(found) if state in REMEDY]
    if unknown:
        of = "" if len(unknown) == len(found) else f" of {listed(unknown)}"
        remedies = [f"too few tasks to tell whether predictions{of} are calibrated", *remedies]
    return "; ".join([text, *remedies])


def _data(stream: xr.Dataset, seeds: np.ndarray) -> np.ndarray:
    """Return the data [seed] that each seed sees; an equal number is the same data."""
    one = caption_notes.same_data(stream)
    return seeds % (1 if one else stream.sizes.get("realisation", 1))


def _independent(by_task: np.ndarray, data: np.ndarray) -> int:
    """Return the number of values [seed, task] that are not NaN, each data set counted once."""
    known = ~np.isnan(by_task)
    return sum(int(known[data == one].any(axis=0).sum()) for one in np.unique(data))


def verdict(share: float, values: int) -> str:
    """Return "narrow", "wide", "few" where chance explains the share, or "" where it is right.

    share: the share of the values that lies within the intervals. values: their number,
    without repetitions of the same data; a task counts as one.
    """
    if NARROW <= share <= WIDE:
        return ""
    outside = round((1 - share) * values)
    is_narrow = share < NARROW
    as_far = stats.binom.sf(outside - 1, values, 1 - LEVEL)
    chance = as_far if is_narrow else stats.binom.cdf(outside, values, 1 - LEVEL)
    if chance >= CHANCE:
        return "few"
    return "narrow" if is_narrow else "wide"

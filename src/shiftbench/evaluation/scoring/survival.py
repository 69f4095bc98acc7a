"""Waiting times that may be cut short: the Kaplan-Meier estimate on whole tasks.

A wait of d tasks that ended with an event had no event in its first d tasks. A censored wait of d
tasks had none in d + 1 tasks, up to task d; what came later is unknown (E. L. Kaplan and P. Meier,
1958). A mean over the waits that ended would leave out the long ones.

Arrays are [..., wait]: each row has its own waits and its own curve. A wait of -1 does not count,
so that rows may have different numbers of waits.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy import stats

from shiftbench.evaluation.scoring.statistics import LEVEL

FEWEST = 6
"""The fewest waits whose median has an interval: the range of five waits contains the median with a
probability of 94 % only."""
ROUNDING = 1e-9
"""Distance from one half that may be due to the rounding of a product."""


def survival(wait: np.ndarray, ended: np.ndarray, upto: int) -> np.ndarray:
    """Return the estimate of P(D > d) for d = 0 .. upto - 1, [..., upto]; NaN without waits.

    wait, ended: [..., wait], tasks waited and whether an event ended it. After the longest wait
    the curve stays as it is.
    """
    counted = wait >= 0
    at_risk = _counts(wait, counted, upto)[..., ::-1].cumsum(axis=-1)[..., ::-1][..., :upto]
    events = _counts(wait, counted & ended, upto)[..., :upto]
    stays = 1 - events / np.maximum(at_risk, 1)
    return np.where(counted.any(axis=-1, keepdims=True), stays.cumprod(axis=-1), np.nan)


def median(wait: np.ndarray, ended: np.ndarray) -> np.ndarray:
    """Return the median wait [...]: the first d with P(D > d) <= 1/2; NaN without waits.

    Where the curve stays above one half, it is the longest wait, a lower bound. To leave such rows
    out would favour detectors that find little.
    """
    longest = 1 + wait.max(axis=-1, initial=-1)
    upto = max(int(longest.max(initial=0)), 1)
    curve = survival(wait, ended, upto)
    half = curve <= 0.5 + ROUNDING
    middle = np.where(half.any(axis=-1), half.argmax(axis=-1), longest)
    return np.where(np.isnan(curve[..., 0]), np.nan, middle)


def median_interval(wait: np.ndarray, ended: np.ndarray) -> tuple[float, float, float]:
    """Return the median of all waits together, and the ends of its 95 % interval.

    wait, ended: of any shape. The ends are where the band of the curve (Greenwood's variance of the
    log of its log) passes one half (R. Brookmeyer and J. Crowley, 1982); infinite where it does
    not, and NaN for fewer than `FEWEST` waits, where the band is far too narrow. The interval takes
    the waits to be independent.
    """
    counted = wait >= 0
    wait, ended = wait[counted].astype(float), ended[counted]
    middle = float(median(wait.astype(int), ended))
    if len(wait) < FEWEST:
        return middle, np.nan, np.nan
    if not ended.any():
        return middle, middle, np.inf
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # at 0 and 1 the band has no width
        curve = stats.ecdf(stats.CensoredData(wait[ended], right=wait[~ended])).sf
        band = curve.confidence_interval(LEVEL, method="log-log")
    ends = [
        np.where(np.isnan(side.probabilities), curve.probabilities, side.probabilities)
        for side in (band.low, band.high)
    ]
    passed = [curve.quantiles[end <= 0.5 + ROUNDING] for end in ends]
    low, high = (float(d[0]) if len(d) else np.inf for d in passed)
    return middle, min(low, middle), max(high, middle)


def restricted_mean(wait: np.ndarray, ended: np.ndarray, limit: int) -> np.ndarray:
    """Return the mean of min(D, limit) [...], the area below the curve; NaN without waits."""
    return survival(wait, ended, limit).sum(axis=-1)


def _counts(wait: np.ndarray, counted: np.ndarray, upto: int) -> np.ndarray:
    """Return the number of counted waits of 0 .. upto - 1 tasks and of more, [..., upto + 1]."""
    lead = wait.shape[:-1]
    rows, width = int(np.prod(lead)), upto + 1
    place = np.arange(rows).reshape(*lead, 1) * width + np.minimum(wait, upto)
    return np.bincount(place[counted], minlength=rows * width).reshape(*lead, width)

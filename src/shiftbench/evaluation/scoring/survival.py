"""Waiting times that may be cut short: the Kaplan-Meier estimate on whole tasks.

A wait of d tasks that ended with an event had none in its first d tasks. A censored wait of d tasks
had none in d + 1 tasks, the last of which is task d; what came later nobody knows (E. L. Kaplan and
P. Meier, 1958). A mean over the waits that ended would leave out the long ones.

Arrays are [..., wait]: each row has its own waits and its own curve. A wait of -1 does not count,
so that rows may have different numbers of waits.
"""

from __future__ import annotations

import numpy as np

ROUNDING = 1e-9
"""Distance from one half that is rounding of a product."""


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

    Where the curve stays above one half, the number of tasks of the longest wait, which is a lower
    bound: to leave such rows out would favour detectors that find little.
    """
    longest = 1 + wait.max(axis=-1, initial=-1)
    upto = max(int(longest.max(initial=0)), 1)
    curve = survival(wait, ended, upto)
    half = curve <= 0.5 + ROUNDING
    middle = np.where(half.any(axis=-1), half.argmax(axis=-1), longest)
    return np.where(np.isnan(curve[..., 0]), np.nan, middle)


def restricted_mean(wait: np.ndarray, ended: np.ndarray, limit: int) -> np.ndarray:
    """Return the mean of min(D, limit) [...], the area below the curve; NaN without waits."""
    return survival(wait, ended, limit).sum(axis=-1)


def _counts(wait: np.ndarray, counted: np.ndarray, upto: int) -> np.ndarray:
    """Return the number of counted waits of 0 .. upto - 1 tasks and of more, [..., upto + 1]."""
    lead = wait.shape[:-1]
    rows, width = int(np.prod(lead)), upto + 1
    place = np.arange(rows).reshape(*lead, 1) * width + np.minimum(wait, upto)
    return np.bincount(place[counted], minlength=rows * width).reshape(*lead, width)

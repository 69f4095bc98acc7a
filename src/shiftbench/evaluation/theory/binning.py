"""Binning of periods, the baseline of rate and distortion of li2021vbs, 4.3 and C.3.

All words are updated once in a bin of L periods, and a document is always dated to its own bin, of
which one period is chosen at random. So V words give V / L updates in a period, and a mean error of
(L^2 - 1) / (3 L) periods. The paper has (L - 1) / 2, which is up to 1.5 times as much.
"""

from __future__ import annotations

import numpy as np


def error(length: np.ndarray) -> np.ndarray:
    """Return the mean error of dating in periods for bins of some length, in periods."""
    return (length**2 - 1) / (3 * length)


def error_as_printed(length: np.ndarray) -> np.ndarray:
    """Return the error that the paper prints for bins of some length, in periods."""
    return (length - 1) / 2


def error_at_rate(rate: np.ndarray, words: int, periods: int) -> np.ndarray:
    """Return the error of binning that updates `rate` words in a period.

    Bins are at most as long as the stream. Lengths between whole numbers are allowed.
    """
    longest = np.maximum(rate, words / periods)
    return error(words / longest)

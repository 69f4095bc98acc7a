"""The mean over the rows of a batch that are not padding."""

from __future__ import annotations

import numpy as np


def masked_mean(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the mean [S] over the unmasked rows of values [S, n]; NaN where there are none."""
    count = mask.sum(axis=1)
    total = np.where(mask, values, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)

"""Expected calibration error of confidences (Guo et al. 2017, Eq. 3)."""

from __future__ import annotations

import numpy as np

BINS = 15


def calibration_error(confidence: np.ndarray, correct: np.ndarray) -> float:
    """Return the error of confidences [n] and whether each was right [n].

    NaN without rows, and where a confidence is NaN.
    """
    if not len(confidence) or np.isnan(confidence).any():
        return np.nan
    bins = np.clip(np.ceil(confidence * BINS).astype(int) - 1, 0, BINS - 1)
    excess = np.bincount(bins, weights=correct - confidence, minlength=BINS)
    return float(np.abs(excess).sum() / len(confidence))

"""The scales of the columns of a table."""

from __future__ import annotations

import numpy as np


def scale(train: np.ndarray, scaling: str) -> tuple[np.ndarray, np.ndarray]:
    """Return origin and factor [feature] of rows [n, feature]; a constant feature has factor 0."""
    if scaling == "none":
        return np.zeros(train.shape[1]), np.ones(train.shape[1])
    origin, width = origin_and_width(train, scaling)
    return origin, np.where(width == 0, 0.0, 1 / np.where(width == 0, 1.0, width))


def origin_and_width(values: np.ndarray, scaling: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the origin and the width of each column by which it is scaled; 0 if constant.

    scaling: z-score (mean and standard deviation) or min-max (smallest value and range).
    """
    if scaling == "z-score":
        origin, width = values.mean(axis=0), values.std(axis=0)
    else:
        origin, width = values.min(axis=0), np.ptp(values, axis=0)
    constant = np.ptp(values, axis=0) == 0  # the standard deviation may be 1e-17
    return origin, np.where(constant, 0.0, width)

"""The range of numbers that a user's files may have."""

from __future__ import annotations

import numpy as np

LARGEST = 1e100
"""The largest number. The squares of far larger numbers, or of their inverses, overflow."""
REASON = f"is beyond {LARGEST:g} or nearer to 0 than {1 / LARGEST:g}; give it another unit"


def is_extreme(numbers: np.ndarray) -> np.ndarray:
    """Return which numbers are too large, or too near to 0, to be scaled."""
    size = np.abs(numbers)
    return (size > LARGEST) | ((size > 0) & (size < 1 / LARGEST))

"""Truncation of a beam to its best hypotheses: li2021vbs, section 3.4 and appendix B."""

from __future__ import annotations

import numpy as np


def select(
    log_weight: np.ndarray, size: int, truncation: str, discard: float = 1 / 3
) -> np.ndarray:
    """Return the indices [S, size] of the children to keep, best first.

    log_weight: [S, 2 size]; children i and i + size are siblings. truncation: `plain`, the best;
    `diversified`, of the round((1 - discard) 2 size) best, the subset with the most families and,
    among those, the largest sum of log weights: the best child of each family, filled up by rank.
    """
    n = log_weight.shape[1]
    rank = np.argsort(np.argsort(-log_weight, axis=1, kind="stable"), axis=1, kind="stable")
    priority = rank.astype(float)
    if truncation == "diversified":
        keep = min(n, round((1 - discard) * n))
        sibling = np.roll(rank, size, axis=1)
        priority += n * (rank > sibling) + 2 * n * (rank >= keep)
        priority += 4 * n * np.isneginf(log_weight)
    chosen = np.argsort(priority, axis=1, kind="stable")[:, :size]
    by_rank = np.argsort(np.take_along_axis(rank, chosen, axis=1), axis=1, kind="stable")
    return np.take_along_axis(chosen, by_rank, axis=1)

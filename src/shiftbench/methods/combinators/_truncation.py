"""Truncation of a beam to its best hypotheses: li2021vbs, section 3.4 and appendix B."""

from __future__ import annotations

import numpy as np
from numba import njit


def survivors(size: int, truncation: str, discard: float = 1 / 3) -> int:
    """Return how many of the 2 size children are compared by families; 0 for none, `plain`.

    truncation: `plain`, the best children are kept; `diversified`, of the round((1 - discard) 2
    size) best, the subset with the most families and, among those, the largest sum of log weights.
    """
    if truncation == "plain":
        return 0
    return min(2 * size, round((1 - discard) * 2 * size))


@njit(cache=True, error_model="numpy")
def select(log_weight, survivors, chosen):
    """Set `chosen` [K] to the children to keep, best first.

    log_weight: [2 K]; children i and i + K are siblings. survivors: see the function. With some,
    the best child of each family is chosen, and the rest by rank.
    """
    n, size = len(log_weight), len(chosen)
    best_first, rank = np.empty(n, np.int64), np.empty(n, np.int64)
    _order(-log_weight, best_first)
    for place in range(n):
        rank[best_first[place]] = place
    priority = rank.astype(np.float64)
    if survivors:
        for k in range(n):
            priority[k] += n * (rank[k] > rank[(k + size) % n]) + 2 * n * (rank[k] >= survivors)
            priority[k] += 4 * n * (log_weight[k] == -np.inf)
    _order(priority, best_first)
    taken = np.zeros(n, np.bool_)
    for k in best_first[:size]:
        taken[k] = True
    _order(rank.astype(np.float64), best_first)
    place = 0
    for k in best_first:
        if taken[k]:
            chosen[place] = k
            place += 1


@njit(cache=True, error_model="numpy")
def _order(keys, order):
    """Set `order` to the indices of the keys, the smallest first, equal keys in their order."""
    for i in range(len(keys)):
        place = i
        while place > 0 and keys[order[place - 1]] > keys[i]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = i

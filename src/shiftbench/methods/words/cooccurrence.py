"""Weighted co-occurrence counts of a period: sparse, or dense for blocks of words.

n+_ij are counts of pairs; n-_ij = ratio c_i q_j are expected counts of negative pairs, with c_i =
sum_j n+_ij and q_j = c_j^exponent / sum_k c_k^exponent of the same period (the authors' code). No
array is vocabulary x vocabulary: the negatives have rank one and are never stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

from shiftbench.core.interface import LearnerError


class Cooccurrence(NamedTuple):
    """Counts: positives n+, sparse [V, V]; negatives n-_ij = mass_i share_j, float64 [V] each."""

    positives: sparse.csr_array
    mass: np.ndarray
    share: np.ndarray

    @property
    def transposed(self) -> Cooccurrence:
        """Swap words and contexts of the counts."""
        return Cooccurrence(self.positives.T.tocsr(), self.share, self.mass)

    def dense(self, words: np.ndarray) -> np.ndarray:
        """Return (n+, n-) of some words, [len(words), V, 2] float32."""
        positives = self.positives[words].toarray()
        return np.stack([positives, np.outer(self.mass[words], self.share)], -1, dtype=np.float32)


def cooccurrence(
    pairs: np.ndarray, weights: np.ndarray, size: int, ratio: float, exponent: float
) -> Cooccurrence:
    """Return the counts of pairs (word, context) [n, 2] with n+ [n], for a vocabulary of `size`.

    Raises LearnerError for words outside the vocabulary, and for negative or infinite counts.
    """
    bad = ~((pairs >= 0) & (pairs < size)).all(axis=1) | ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise LearnerError(
            f"per-word: row {row} counts the pair {pairs[row].tolist()} {weights[row]} times; words"
            f" go from 0 to {size - 1} and counts from 0 on: look at how the stream was built"
        )
    positives = sparse.csr_array((weights.astype(float), tuple(pairs.T)), shape=(size, size))
    mass = positives.sum(axis=1)
    # A word that does not occur has no share of the negatives, even for exponent 0.
    power = np.where(mass > 0, mass, 0.0) ** exponent * (mass > 0)
    return Cooccurrence(positives, ratio * mass, power / max(power.sum(), np.finfo(float).tiny))


def blocks(size: int, block: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield words [block], and which of them are real [block]; the last block is filled up."""
    for first in range(0, size, block):
        words = np.arange(first, first + block)
        yield np.minimum(words, size - 1), words < size

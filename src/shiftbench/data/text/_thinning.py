"""Samples of the occurrences that a table counts: how many stay, and how many are held out.

Each occurrence stays with a probability that depends on its period. Each one that stays is held out
with a second probability. All draws are independent, so that both numbers are binomial.

A draw depends only on the seed, the n-gram, the year and the number of the occurrence. So it does
not depend on the order of the tables or their division into shards, and a larger sample contains
every smaller one. Draws are 63 bits of SplitMix64 (Steele, Lea and Flood 2014) and are compared
with integer probabilities, so that no rounding is involved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from shiftbench.core import seeds

ALWAYS = 2**63
"""The integer that stands for probability 1."""
GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""The constants of SplitMix64."""


class Sample(NamedTuple):
    """Probabilities, by period, that an occurrence stays, and that it stays and is held out.

    kept, held_out: [T] uint64, as multiples of 1 / ALWAYS. seed: uint64.
    """

    kept: np.ndarray
    held_out: np.ndarray
    seed: np.uint64

    @property
    def is_all(self) -> bool:
        """Return whether all occurrences stay and none is held out, so that nothing is drawn."""
        return bool((self.kept == ALWAYS).all() and not self.held_out.any())


def sample(tokens: Sequence[int], target: int, held_out: float, realisation: int) -> Sample:
    """Return the sample that leaves about `target` of the tokens of each period; 0 leaves all.

    tokens: number of tokens of each period [T]. held_out: share of those that stay.
    """
    kept = [min(ALWAYS, ALWAYS * target // max(one, 1)) if target else ALWAYS for one in tokens]
    out = [int(held_out * one) for one in kept]
    (seed,) = seeds.fold("n-grams", realisation).view(np.uint64)
    return Sample(np.array(kept, np.uint64), np.array(out, np.uint64), seed)


def expected(sample: Sample, tokens: Sequence[int]) -> np.ndarray:
    """Return the tokens that are expected to stay for training, of each period [T] int64."""
    train = (int(a) - int(b) for a, b in zip(sample.kept, sample.held_out, strict=True))
    return np.array([n * p // ALWAYS for n, p in zip(tokens, train, strict=True)], np.int64)


def drawn(
    sample: Sample, period: np.ndarray, key: np.ndarray, year: np.ndarray, count: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return how many of each count stay for training, and how many are held out, [m] int64.

    key: digest of the n-gram [m] uint64. period, year: [m]. Time: about a nanosecond an occurrence.
    """
    if sample.is_all:
        return count, np.zeros_like(count)
    return _drawn(*sample, period, key, year, count)


@njit(cache=True)
def _drawn(kept, held_out, seed, period, key, year, count):
    train, out = np.zeros(len(count), np.int64), np.zeros(len(count), np.int64)
    for at in range(len(count)):
        stays, is_held_out = kept[period[at]], held_out[period[at]]
        state = _mixed(_mixed(key[at] ^ seed) + np.uint64(year[at]))
        for _ in range(count[at]):
            state += np.uint64(GOLDEN)
            draw = _mixed(state) >> np.uint64(1)
            out[at] += draw < is_held_out
            train[at] += is_held_out <= draw < stays
    return train, out


@njit(cache=True)
def _mixed(value):
    """Return the output of SplitMix64 for a state."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(FIRST)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(SECOND)
    return value ^ (value >> np.uint64(31))

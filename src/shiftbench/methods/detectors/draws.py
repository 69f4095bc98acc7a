"""Random numbers by key in compiled code: a hash of seed, count and place, without a state.

SplitMix64 (G. Steele, D. Lea and C. Flood, 2014): number i of the generator with a given start is
`mixed(start + i GAMMA)`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

GAMMA = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
TO_UNIT = 2.0**-53


@njit(cache=True, error_model="numpy", forceinline=True)
def mixed(z):
    """Return the output of SplitMix64 for a 64-bit number."""
    z = (z ^ (z >> np.uint64(30))) * FIRST
    z = (z ^ (z >> np.uint64(27))) * SECOND
    return z ^ (z >> np.uint64(31))


@njit(cache=True, error_model="numpy", forceinline=True)
def start(key, drawn):
    """Return the start of the generator of a value, from the seed [2] and the values before it."""
    high, low = np.uint64(np.int64(key[0])), np.uint64(np.int64(key[1]))
    seed = mixed((high << np.uint64(32)) ^ (low & np.uint64(0xFFFFFFFF)))
    return mixed(seed + np.uint64(np.int64(drawn)))


@njit(cache=True, error_model="numpy", forceinline=True)
def uniform(begin, place):
    """Return number `place`, from 0, of a generator, uniform in [0, 1)."""
    z = mixed(begin + (np.uint64(place) + np.uint64(1)) * GAMMA)
    return np.float64(z >> np.uint64(11)) * TO_UNIT

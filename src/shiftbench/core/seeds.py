"""Random seeds by name: every draw has a key, no generator has a state.

A seed is a pair of 32-bit integers, as TensorFlow's stateless functions take it. It is a digest
of its key, so that equal keys give equal draws whatever was drawn before: a resumed run draws
what an uninterrupted one draws.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

import numpy as np


def fold(*key: str | int) -> np.ndarray:
    """Return the seed [2] int32 of a key such as (study, stream, method, seed, task, "predict")."""
    return np.frombuffer(_digest(json.dumps(key)), dtype=np.int32)


def fold_each(seeds: np.ndarray, *key: str | int) -> np.ndarray:
    """Return the seeds [S, 2], each folded with the same key: fold(a, b, *key) for each (a, b)."""
    # Called several times a task for every repetition, so the common part is written once.
    rest = json.dumps(key)[1:]
    digests = [_digest(f"[{a}, {b}, {rest}") for a, b in seeds.tolist()]
    return np.frombuffer(b"".join(digests), dtype=np.int32).reshape(-1, 2)


def block(numbers: Iterable[int], *key: str | int) -> np.ndarray:
    """Return the seeds [S, 2] of a block of repetitions under one key."""
    return np.stack([fold(*key, number) for number in numbers])


def generator(seed: np.ndarray) -> np.random.Generator:
    """Return NumPy's generator for one seed [2]."""
    return np.random.default_rng([int(word) & 0xFFFFFFFF for word in seed])


def _digest(key: str) -> bytes:
    return hashlib.blake2b(key.encode(), digest_size=8).digest()

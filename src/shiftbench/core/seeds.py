"""Random seeds by name: every draw has a key, no generator has a state.

A seed is a pair of 32-bit integers, the form that TensorFlow's stateless functions
take. It is a digest of the key, so equal keys give equal draws whatever was drawn
before: a run that was killed and resumed draws what an uninterrupted one draws.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

import numpy as np


def fold(*key: str | int) -> np.ndarray:
    """The seed [2] int32 of a key such as (study, stream, variant, seed, task, "predict")."""
    return np.frombuffer(_digest(json.dumps(key)), dtype=np.int32)


def fold_each(seeds: np.ndarray, *key: str | int) -> np.ndarray:
    """The seeds [S, 2], each folded with the same key: fold(a, b, *key) for each (a, b)."""
    # Several times a task, for each repetition: the common part is written once.
    rest = json.dumps(key)[1:]
    digests = [_digest(f"[{a}, {b}, {rest}") for a, b in seeds.tolist()]
    return np.frombuffer(b"".join(digests), dtype=np.int32).reshape(-1, 2)


def block(numbers: Iterable[int], *key: str | int) -> np.ndarray:
    """The seeds [S, 2] of a block of repetitions under one key."""
    return np.stack([fold(*key, number) for number in numbers])


def generator(seed: np.ndarray) -> np.random.Generator:
    """NumPy's generator for one seed [2]."""
    return np.random.default_rng([int(word) & 0xFFFFFFFF for word in seed])


def _digest(key: str) -> bytes:
    return hashlib.blake2b(key.encode(), digest_size=8).digest()

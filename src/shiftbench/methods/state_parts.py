"""Parts of states and Infos: hypotheses along their axis, and repetitions by a condition."""

from __future__ import annotations

import numpy as np

from shiftbench.core.interface import State


def stack(left: State, right: State) -> State:
    """Concatenate two states along the hypothesis axis."""
    return {name: np.concatenate([left[name], right[name]], axis=1) for name in left}


def take(array: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Select hypotheses of an array [S, H, ...] by index [S, K]."""
    return array[np.arange(len(array))[:, None], index]


def where(condition: np.ndarray, one: State, other: State) -> State:
    """Take the arrays [S, ...] of `one` for repetitions with a condition [S], else of `other`."""
    return {
        name: np.where(condition.reshape(-1, *[1] * (np.ndim(array) - 1)), array, other[name])
        for name, array in one.items()
    }

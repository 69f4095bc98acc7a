"""Hypotheses side by side: states and Infos along the hypothesis axis."""

from __future__ import annotations

import numpy as np

from shiftbench.core.interface import State


def stack(left: State, right: State) -> State:
    """Concatenate two states along the hypothesis axis."""
    return {name: np.concatenate([left[name], right[name]], axis=1) for name in left}


def take(array: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Select hypotheses of an array [S, H, ...] by index [S, K]."""
    return array[np.arange(len(array))[:, None], index]

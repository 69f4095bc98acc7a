"""Shared by natural-gradient learners (VOGN, SLANG): what a task starts with."""

from __future__ import annotations

import numpy as np

from shiftbench.core.seeds import generator
from shiftbench.methods.models._model import Model


def fresh(model: Model, seeds: np.ndarray) -> np.ndarray:
    """Start values [S, 1, P] uniform within 1 / sqrt(fan_in), biases too: PyTorch's default."""
    start = np.empty((len(seeds), 1, model.size), np.float32)
    for s, seed in enumerate(seeds):
        draws = generator(seed)
        for layer in model.layers:
            bound = layer.fan_in**-0.5
            here = slice(layer.start, layer.biases.stop)
            start[s, 0, here] = draws.uniform(-bound, bound, here.stop - here.start)
    return start


def first_precision(
    values: tuple[float, ...], per: str, tasks: np.ndarray, count: np.ndarray
) -> np.ndarray:
    """Precision [S, H] that a task starts with; its last value holds for all later tasks.

    per: "example" multiplies by the number of rows, count [S]; "task" does not.
    tasks: [S, H], tasks learnt before.
    """
    chosen = np.array(values)[np.minimum(tasks, len(values) - 1)]
    return (chosen * (count[:, None] if per == "example" else 1.0)).astype(np.float32)

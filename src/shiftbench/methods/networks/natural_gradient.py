"""Start values of natural-gradient learners (VOGN, SLANG)."""

from __future__ import annotations

import numpy as np

from shiftbench.core.seeds import generator
from shiftbench.methods.models._model import Model


def fresh(model: Model, seeds: np.ndarray) -> np.ndarray:
    """Return start values [S, 1, P], uniform within 1 / sqrt(fan_in): PyTorch's default."""
    start = np.empty((len(seeds), 1, model.size), np.float32)
    for s, seed in enumerate(seeds):
        draws = generator(seed)
        for layer in model.layers:
            bound = layer.fan_in**-0.5
            own = slice(layer.start, layer.biases.stop)
            start[s, 0, own] = draws.uniform(-bound, bound, own.stop - own.start)
    return start


def first_precision(
    values: tuple[float, ...], per: str, tasks: np.ndarray, count: np.ndarray
) -> np.ndarray:
    """Return the precision [S, H] that a task starts with.

    values: of each task in order; the last holds for all later tasks. per: "example" multiplies by
    the number of rows, count [S]; "task" does not. tasks: [S, H], the number learnt before.
    """
    precision = np.array(values)[np.minimum(tasks, len(values) - 1)]
    return (precision * (count[:, None] if per == "example" else 1.0)).astype(np.float32)

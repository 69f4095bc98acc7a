"""Memory of earlier tasks' rows in a state, for `joint` and `coreset`."""

from __future__ import annotations

import numpy as np

from shiftbench.core.interface import Problem, State


def empty(problem: Problem, seeds: int, capacity: int) -> State:
    """Return an empty memory: inputs [S, 1, capacity, ...], targets, and mask (False: no row)."""
    classes = problem.kind == "classification"
    targets = (seeds, 1, capacity) if classes else (seeds, 1, capacity, problem.n_outputs)
    return {
        "inputs": np.zeros((seeds, 1, capacity, *problem.row_shape), np.float32),
        "targets": np.zeros(targets, np.int64 if classes else np.float64),
        "mask": np.zeros((seeds, 1, capacity), bool),
    }

"""Predictions that a run keeps row by row, for scores that need all rows of a task at once.

A run keeps the class probabilities of the mixture over hypotheses, and the mean entropy of the
class probabilities of posterior draws. The rest of a prediction's entropy is uncertainty about the
parameters. Both are kept for the training rows before a task and for its test rows after it.
"""

from __future__ import annotations

import numpy as np
from scipy.special import entr

from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Categorical, Predictive

KEPT = "kept/"
"""Prefix of the names of kept predictions, KEPT + MOMENT/NAME, [S, tasks, rows, ...]."""
ROWS = {"before": "train_row", "after": "test_row"}
"""Moments of predictions, before or after a task, with the dimension of their rows."""
FIELDS = {
    "probability": ("probability of a class", "1"),
    "expected_entropy": ("mean entropy of the class probabilities of a draw", "nat"),
    "target": ("class, -1 where a row is masked", "1"),
}
"""Arrays to keep: names with descriptions and units."""
NONE = -1
"""The target of a row that is masked, or of a task that a run did not reach."""


def arrays(moment: str, predictive: Predictive, batch: Batch) -> dict[str, np.ndarray]:
    """Return what is kept of a prediction of S repetitions on n rows, by name.

    probability [S, n, class] and expected_entropy [S, n], float32, NaN where masked; target
    [S, n]. UserError for predictions that are not of classes.
    """
    if not isinstance(predictive, Categorical):
        raise UserError(
            "predictions are kept of class labels, but these are of real values; take"
            " `keeps: [predictions]` out of the study"
        )
    weights, probability = np.exp(predictive.log_weights), predictive.probabilities
    entropy = entr(probability).sum(axis=-1) if predictive.entropy is None else predictive.entropy
    kept = {
        "probability": predictive.mixture,
        "expected_entropy": np.einsum("sh,shn->sn", weights, entropy),
    }
    for values in kept.values():
        values[~batch.mask] = np.nan
    kept = {name: values.astype(np.float32) for name, values in kept.items()}
    kept["target"] = np.where(batch.mask, batch.targets, NONE).astype(np.int32)
    return {f"{KEPT}{moment}/{name}": values for name, values in kept.items()}


def joined(pieces: list[np.ndarray]) -> np.ndarray:
    """Concatenate pieces [S, tasks, rows, ...] over tasks, which may differ in rows."""
    most = max(piece.shape[2] for piece in pieces)
    return np.concatenate([_padded(piece, 2, most) for piece in pieces], axis=1)


def variables(records: dict[str, np.ndarray], n_tasks: int) -> dict[str, tuple]:
    """Return the variables MOMENT_NAME of a run's store, padded to all tasks."""
    variables = {}
    for key, array in records.items():
        if key.startswith(KEPT):
            moment, _, name = key.removeprefix(KEPT).partition("/")
            dims = ("seed", "task", ROWS[moment], "class")[: array.ndim]
            description, units = FIELDS[name]
            about = {"long_name": f"{description}, {moment} the task", "units": units}
            variables[f"{moment}_{name}"] = (dims, _padded(array, 1, n_tasks), about)
    return variables


def _padded(array: np.ndarray, axis: int, length: int) -> np.ndarray:
    """Pad an array along an axis to a length, with NaN, or with NONE for targets."""
    missing = [(0, length - array.shape[axis] if i == axis else 0) for i in range(array.ndim)]
    filler = np.nan if array.dtype.kind == "f" else NONE
    return np.pad(array, missing, constant_values=filler)

"""Predictions that a run keeps row by row, for scores that need all rows of a task at once.

Of the mixture over hypotheses: class probabilities, and the entropy of class probabilities that
draws of the posterior have on average, which tells what of a prediction's entropy is doubt about
the parameters. Kept of the training rows before a task and of its own test rows after it.
"""

from __future__ import annotations

import numpy as np
from scipy.special import entr

from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Categorical, Predictive

KEPT = "kept/"
"""Before the names of kept predictions, KEPT + MOMENT/NAME, [S, tasks, rows, ...]."""
ROWS = {"before": "train_row", "after": "test_row"}
"""When predictions are made, and the dimension of the rows that they are of."""
FIELDS = {
    "probability": ("probability of a class", "1"),
    "expected_entropy": ("mean entropy of the class probabilities of a draw", "nat"),
    "target": ("class, -1 where a row is masked", "1"),
}
"""What is kept, and in which units."""
NONE = -1
"""The target of a row that is masked, or of a task that a run has not come to."""


def arrays(moment: str, predictive: Predictive, batch: Batch) -> dict[str, np.ndarray]:
    """What is kept of a prediction of S repetitions on n rows, by name.

    probability [S, n, class] and expected_entropy [S, n], float32, NaN where masked; target
    [S, n]. UserError for predictions that are not of classes.
    """
    if not isinstance(predictive, Categorical):
        raise UserError(
            "predictions are kept of class labels, but these are of real values; take"
            " `keeps: [predictions]` out of the study"
        )
    weights, each = np.exp(predictive.log_weights), predictive.probabilities
    entropy = entr(each).sum(axis=-1) if predictive.entropy is None else predictive.entropy
    found = {
        "probability": np.einsum("sh,shnc->snc", weights, each),
        "expected_entropy": np.einsum("sh,shn->sn", weights, entropy),
    }
    for values in found.values():
        values[~batch.mask] = np.nan
    found = {name: values.astype(np.float32) for name, values in found.items()}
    found["target"] = np.where(batch.mask, batch.targets, NONE).astype(np.int32)
    return {f"{KEPT}{moment}/{name}": values for name, values in found.items()}


def joined(pieces: list[np.ndarray]) -> np.ndarray:
    """Pieces [S, tasks, rows, ...] one after the other, of tasks that may differ in rows."""
    most = max(piece.shape[2] for piece in pieces)
    return np.concatenate([_longer(piece, 2, most) for piece in pieces], axis=1)


def variables(found: dict[str, np.ndarray], n_tasks: int) -> dict[str, tuple]:
    """The variables of a run's store, MOMENT_NAME, of all tasks."""
    made = {}
    for key, array in found.items():
        if key.startswith(KEPT):
            moment, _, name = key.removeprefix(KEPT).partition("/")
            dims = ("seed", "task", ROWS[moment], "class")[: array.ndim]
            words, units = FIELDS[name]
            about = {"long_name": f"{words}, {moment} the task", "units": units}
            made[f"{moment}_{name}"] = (dims, _longer(array, 1, n_tasks), about)
    return made


def _longer(array: np.ndarray, axis: int, length: int) -> np.ndarray:
    """The array with NaN, of targets NONE, behind its end along an axis."""
    missing = [(0, length - array.shape[axis] if i == axis else 0) for i in range(array.ndim)]
    filler = np.nan if array.dtype.kind == "f" else NONE
    return np.pad(array, missing, constant_values=filler)

"""Inputs and targets as compiled loops over rows take them: finite, contiguous and writable."""

from __future__ import annotations

import numpy as np

from shiftbench.core.interface import Batch, LearnerError


def plain(array: np.ndarray, kind: type = float) -> np.ndarray:
    """Return an array as compiled code takes it: contiguous and writable, a copy if need be.

    A constant design, broadcast from a number, is neither.
    """
    flags = array.flags
    if array.dtype == kind and flags.c_contiguous and flags.writeable:
        return array  # np.require takes ten times as long for this check
    return np.require(array, kind, ["C", "W"])


def no_features(inputs: np.ndarray) -> np.ndarray:
    """Return no features [S, n, 0], for learners that do not look at inputs."""
    return np.empty((*inputs.shape[:2], 0))


def regressors(inputs: np.ndarray, bias: bool) -> np.ndarray:
    """Flatten features or designs into regressors [S, n, P], with the bias last."""
    flat = np.asarray(inputs, float).reshape(*inputs.shape[:2], -1)
    ones = np.ones((*flat.shape[:2], 1))
    return np.concatenate([flat, ones], axis=2) if bias else flat


def checked(name: str, batch: Batch, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs [S, n, flat] and targets [S, n, d] of a batch, as compiled code takes them.

    name: of the learner, for messages. Raises LearnerError if a seen row has missing or infinite
    values, or the number of targets is not d.
    """
    y = plain(batch.targets)
    if y.shape[2:] != (d,):
        raise LearnerError(
            f"{name}: targets have {y.shape[2:]} values a row, but the stream promised {d}"
        )
    x = plain(batch.inputs).reshape(*y.shape[:2], -1)
    for what, values in (("target", y), ("regressor", x)):
        if np.isfinite(values).all():
            continue
        bad = ~np.isfinite(values) & batch.mask[..., None]
        if bad.any():
            s, n, j = np.argwhere(bad)[0]
            raise LearnerError(
                f"{name}: {what} {j} of row {n} of repetition {s} is {values[s, n, j]}; fill"
                " gaps, or mask the row, when the stream is built"
            )
    return x, y

"""Check and convert values for compiled loops over rows: finite, contiguous and writable."""

from __future__ import annotations

import numpy as np

from shiftbench.core.interface import Batch, LearnerError


def checked(name: str, batch: Batch, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs [S, n, flat] and targets [S, n, d] of a batch, as compiled code takes them.

    name: of the learner, for messages. Raises LearnerError if a seen row has missing or infinite
    values, or the number of targets is not d.
    """
    y = np.require(batch.targets, float, ["C", "W"])
    if y.shape[2:] != (d,):
        raise LearnerError(
            f"{name}: targets have {y.shape[2:]} values a row, but the stream promised {d}"
        )
    # Compiled code takes no read-only arrays, such as a constant design broadcast from a number.
    x = np.require(batch.inputs, float, ["C", "W"]).reshape(*y.shape[:2], -1)
    for what, values in (("target", y), ("regressor", x)):
        bad = ~np.isfinite(values) & batch.mask[..., None]
        if bad.any():
            s, n, j = np.argwhere(bad)[0]
            raise LearnerError(
                f"{name}: {what} {j} of row {n} of repetition {s} is {values[s, n, j]}; fill"
                " gaps, or mask the row, when the stream is built"
            )
    return x, y

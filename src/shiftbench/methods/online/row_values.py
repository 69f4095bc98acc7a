"""What compiled loops over rows can take: values that are there, contiguous and writable."""

from __future__ import annotations

import numpy as np

from shiftbench.core.interface import Batch, LearnerError


def checked(name: str, batch: Batch, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs [S, n, flat] and targets [S, n, d] of a batch, as compiled code takes them.

    LearnerError, of the learner of this name, for values of rows that are seen which are missing
    or infinite, or for another number of targets.
    """
    y = np.require(batch.targets, float, ["C", "W"])
    if y.shape[2:] != (d,):
        raise LearnerError(
            f"{name}: targets have {y.shape[2:]} values a row, but the stream promised {d}"
        )
    # Compiled code takes no read-only arrays, and a constant design is one number repeated.
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

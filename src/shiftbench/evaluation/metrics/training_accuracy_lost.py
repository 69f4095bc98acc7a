"""How far the accuracy on the rows learnt from has fallen at the end, from where it was best.

On streams whose tasks show the same rows (farquhar2020radial, Fig. 7): what goes on is training.
NaN for learners that do not tell their accuracy there.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

STAGE = "run"
UNIT = "fraction"
BOUNDS = (0.0, 1.0)
HIGHER_IS_BETTER = False
FROM = ("gradients",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Best accuracy minus the last one, of the first hypothesis [seed]."""
    if "info_train_accuracy" not in run:
        return np.full(run.sizes["seed"], np.nan)
    found = run["info_train_accuracy"].isel(hypothesis=0).transpose("seed", "task").values
    return found.max(axis=1) - found[:, -1]

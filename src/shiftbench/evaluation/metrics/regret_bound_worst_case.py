"""Bound of a theorem on the regret, with the Lipschitz constant of the stream.

The right side of the theorem minus the loss of the best fixed predictor, so that it compares
with `expected_regret` and `regret`; see evaluation/theory/regret.py for the theorems and their
constants. NaN where none applies. Source: cherief2019online, Theorems 1 and 2.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.theory import regret

STAGE = "run"
UNIT = "loss"
HIGHER_IS_BETTER = None
REQUIRES = ("table",)
FROM = ("loss", "theorem")


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Bound [seed]."""
    return regret.bounds(run, stream)[1]

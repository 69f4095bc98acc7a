"""Sum of expected losses minus the loss of the best fixed predictor in hindsight.

Over the whole stream, of E_q[l_t] before each row is learnt from, in the learner's own loss (ridge
included). NaN for other learners than the plain online ones. Source: cherief2019online.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.theory import regret

STAGE = "run"
UNIT = "loss"
HIGHER_IS_BETTER = False
REQUIRES = ("table",)
FROM = ("loss",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Regret [seed]."""
    return regret.of_losses(run, stream, "info_expected_loss")

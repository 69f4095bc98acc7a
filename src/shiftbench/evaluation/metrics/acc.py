"""Average accuracy over all tasks after the last was learnt, mean_j A[T, j].

Eq. 64 of eschenhagen2019vogn; A: see `_matrix`. Of learners that start each task from scratch, of
which after the last task nothing is known but that, it is mean_j A[j, j], each task just learnt, as
in the paper's rows "from scratch".
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.config import provenance
from shiftbench.evaluation.metrics._matrix import diagonal, matrix, mean

STAGE = "run"
UNIT = "fraction"
BOUNDS = (0.0, 1.0)
HIGHER_IS_BETTER = True
REQUIRES = ("earlier-tests",)
USES = ("accuracy",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """ACC [seed]; UserError without the accuracy on earlier tasks."""
    starts_anew = provenance.offering(run, "scratch") is not None
    return mean(diagonal(run) if starts_anew else matrix(run)[:, -1])

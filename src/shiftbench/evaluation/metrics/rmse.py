"""Root mean squared error on test rows after the last task, in the units of the data.

The square root of `test_squared_error` times the standard deviation by which the stream has
divided its targets. farquhar2020radial, Table 2.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.metrics import _target_scale

STAGE = "run"
UNIT = "unit of the target"
BOUNDS = (0.0, None)
HIGHER_IS_BETTER = False
TAKES = ("value", "number", "design", "designs")
REQUIRES = ("tests",)
USES = ("test_squared_error",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """The root mean squared error [seed]."""
    squared = _target_scale.at_end(run, "test_squared_error")
    return np.sqrt(squared) * _target_scale.sd(run, stream)

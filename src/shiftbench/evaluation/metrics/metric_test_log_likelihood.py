"""Mean log density of test rows after the last task, of targets in the units of the data.

`test_log_density` less the log of the standard deviation by which the stream has divided its
targets: the density of y = m + s z is that of z over s. farquhar2020radial, Table 2.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.metrics import _target_scale

STAGE = "run"
UNIT = "nats per row"
HIGHER_IS_BETTER = True
TAKES = ("value", "number", "design", "designs")
REQUIRES = ("tests",)
USES = ("test_log_density",)


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """The mean log likelihood [seed]."""
    density = _target_scale.at_end(run, "test_log_density")
    return density - np.log(_target_scale.sd(run, stream))

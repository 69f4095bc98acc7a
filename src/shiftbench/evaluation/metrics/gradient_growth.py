"""How much noisier gradients are from weights of a standard deviation of 1 than from .1.

The ratio of the standard deviations of the gradient over draws, at the start of training, mean over
tasks on the log scale (farquhar2020radial, Fig. 6). NaN for learners that do not measure it at
both.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.config import provenance

STAGE = "run"
UNIT = "ratio"
BOUNDS = (0.0, None)
HIGHER_IS_BETTER = False
FROM = ("gradients_at_start",)

WIDE, NARROW = 1.0, 0.1


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Ratio [seed]."""
    settings = provenance.offering(run, "gradients_at_start")
    sds = [] if settings is None else list(settings["sds"])
    if WIDE not in sds or NARROW not in sds:
        return np.full(run.sizes["seed"], np.nan)
    found = run["info_gradient_sd"].transpose("seed", "task", "hypothesis").values
    wide, narrow = (np.log(found[..., sds.index(sd)]) for sd in (WIDE, NARROW))
    return np.exp((wide - narrow).mean(axis=1))

"""The realisations of a stream that the seeds of a run saw."""

from __future__ import annotations

import numpy as np
import xarray as xr


def of_seeds(run: xr.Dataset, values: xr.DataArray) -> np.ndarray:
    """Return values [realisation, ...] of a stream as [seed, ...], by what each seed saw."""
    return values.values[run["realisation"].values.astype(int)]

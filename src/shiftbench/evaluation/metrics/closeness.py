"""Metric of the distance between fitted and exact beta posteriors, one number per run."""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.config import provenance
from shiftbench.core.metric import Metric

INITIAL = 0.05
"""The largest beta_p from which knoblauch2018robust starts (3.1: for one dimension)."""


def k_hat(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the largest k-hat [seed] of the predictive density over beta_p up to `INITIAL`.

    After the last task; knoblauch2018robust, Fig. 2B, has it by beta_p. NaN for other learners.
    """
    settings = provenance.offering(run, "closeness")
    if settings is None or "info_predictive" not in run:
        return np.full(run.sizes["seed"], np.nan)
    last = run["info_predictive"].isel(task=-1).transpose("seed", "hypothesis").values
    return last[:, np.array(settings["betas"]) <= INITIAL].max(axis=1)


METRICS = [
    Metric(
        "k_hat",
        about="Largest k-hat of the predictive density at the end, for beta_p up to .05; below .5"
        " the fit is close to the exact posterior.",
        unit="1",
        bounds=(None, None),
        better="lower",
        stage="run",
        from_learner=("closeness",),
        score=k_hat,
    ),
]

"""Distance of predicted distributions from calibrated ones, over a whole run."""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.core.metric import Metric


def pit_distance(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the largest distance [seed] of the distribution of `pit` over tasks from uniform.

    The Kolmogorov-Smirnov statistic; about 1.36 / sqrt(tasks) is the 95 % point of chance.
    """
    by_task = run["score"].sel(metric="pit").transpose("seed", "task").values
    return np.array([_distance(values[np.isfinite(values)]) for values in by_task])


def _distance(values: np.ndarray) -> float:
    """Return the distance of the empirical distribution from the uniform one; NaN of no value."""
    if not values.size:
        return np.nan
    ordered, steps = np.sort(values), np.arange(values.size + 1) / values.size
    return float(max((steps[1:] - ordered).max(), (ordered - steps[:-1]).max()))


METRICS = [
    Metric(
        "pit_distance",
        about="Largest distance between the distribution of `pit` over the tasks and the uniform"
        " one (Kolmogorov-Smirnov): 0 where predictions are calibrated.",
        unit="fraction",
        bounds=(0.0, 1.0),
        better="lower",
        stage="run",
        takes=("value", "number", "design", "designs"),
        uses=("pit",),
        score=pit_distance,
    ),
]

"""Metrics that are computed from the scores that other metrics gave task by task."""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.core.metric import Metric
from shiftbench.evaluation.scoring import realisations


def rmse(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the root mean squared error [seed], in the units of the data.

    farquhar2020radial, Table 2.
    """
    return np.sqrt(_at_end(run, "test_squared_error")) * target_sd(run, stream)


def log_likelihood(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the mean log likelihood [seed], in the units of the data.

    The density of y = m + s z is that of z over s. farquhar2020radial, Table 2.
    """
    return _at_end(run, "test_log_density") - np.log(target_sd(run, stream))


def mean_cumulative_share_error(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the mean over time of the mean error so far [seed].

    Early errors weigh more than in a plain mean. The first task counts for nothing, as in the
    public code of li2021vbs: nothing has been learnt before it.
    """
    errors = run["score"].sel(metric="share_error").transpose("seed", "task").values[:, 1:]
    return (errors.cumsum(axis=1) / np.arange(1, errors.shape[1] + 1)).mean(axis=1)


def _at_end(run: xr.Dataset, metric: str) -> np.ndarray:
    """Return the scores [seed] of a metric after the last task."""
    if not run.sizes["seed"]:  # a run whose seeds all failed may have ended before any score
        return np.empty(0)
    return run["score"].sel(metric=metric).isel(task=-1).values


def target_sd(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the standard deviation [seed] by which the stream divided each seed's targets."""
    if "target_sd" not in stream:
        return np.ones(run.sizes["seed"])
    return realisations.of_seeds(run, stream["target_sd"])


METRICS = [
    Metric(
        "rmse",
        about="Root mean squared error on test rows after the last task, in the units of the data.",
        unit="unit of the target",
        bounds=(0.0, None),
        better="lower",
        stage="run",
        takes=("value", "number", "design", "designs"),
        requires=("tests",),
        uses=("test_squared_error",),
        score=rmse,
    ),
    Metric(
        "test_log_likelihood",
        about="Mean log density of test rows after the last task, of targets in the units of the"
        " data.",
        unit="nats per row",
        better="higher",
        stage="run",
        takes=("value", "number", "design", "designs"),
        requires=("tests",),
        uses=("test_log_density",),
        score=log_likelihood,
    ),
    Metric(
        "mean_cumulative_share_error",
        about="Mean over time of the mean `share_error` so far: the mean cumulative absolute error"
        " of li2021vbs.",
        unit="share",
        bounds=(0.0, 1.0),
        better="lower",
        stage="run",
        takes=("number",),
        requires=("log-odds",),
        uses=("share_error",),
        score=mean_cumulative_share_error,
    ),
]

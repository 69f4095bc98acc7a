"""Metrics of series with known outliers: alarms that they raise, and scores of all other rows.

A burst is a run of tasks that are outliers, one of them or several. What an alarm is, and when one
counts as true, is in `scoring.alarms`. NaN for a seed without outliers, and for the alarms of
learners that make no decisions about shifts.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray as xr

from shiftbench.core.metric import Metric
from shiftbench.evaluation.scoring import alarms, realisations


def alarms_at_outliers(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the share of the bursts [seed] that raise a false alarm.

    An alarm belongs to a burst if it comes with one of its outliers or within the m tasks from the
    last one on, but before the next burst. Bursts in the window after a shift, where an alarm may
    be true, are left out.
    """
    raised = alarms.raised(run, stream)
    if raised is None:
        return np.full(run.sizes["seed"], np.nan)
    horizon = alarms.horizon(stream)
    free = alarms.change_free(alarms.episodes(run, stream), raised.shape[1], horizon.window)
    rows = zip(raised, outliers(run, stream), free, strict=True)
    return np.array([_share(*row, horizon.recent) for row in rows])


def outliers(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the outliers [seed, task] bool of the realisations that a run's seeds saw."""
    return realisations.of_seeds(run, stream["outlier"])


def on_clean_rows(run: xr.Dataset, stream: xr.Dataset, *, metric: str) -> np.ndarray:
    """Return the mean of a metric [seed] over the tasks with a score that are not outliers.

    Rows after an outlier are included, so that its effect on the posterior counts. With a design of
    past values, the outlier is also among their inputs.
    """
    by_task = run["score"].sel(metric=metric).transpose("seed", "task").values
    kept = ~np.isnan(by_task) & ~outliers(run, stream)
    with np.errstate(invalid="ignore"):  # NaN where no task has a score
        return by_task.sum(axis=1, where=kept) / kept.sum(axis=1)


def _share(raised: np.ndarray, outlier: np.ndarray, free: np.ndarray, recent: int) -> float:
    """Return the share of the bursts with an alarm, each argument [task] bool."""
    before, after = np.append(False, outlier[:-1]), np.append(outlier[1:], False)
    first, last = np.flatnonzero(outlier & ~before), np.flatnonzero(outlier & ~after)
    end = np.minimum(last + recent, np.append(first[1:], len(outlier)))
    hits = [raised[a:b].any() for a, b in zip(first, end, strict=True) if free[a:b].all()]
    return float(np.mean(hits)) if hits else np.nan


OfCleanRows = partial(Metric, stage="run", requires=("outliers", "one-row"))
METRICS = [
    Metric(
        "alarms_at_outliers",
        about="Share of the bursts of outliers that raise a false alarm, at once or at most m tasks"
        " later, online.",
        unit="fraction",
        bounds=(0.0, 1.0),
        better="lower",
        stage="run",
        requires=("outliers", "one-row"),
        from_learner=("changes",),
        score=alarms_at_outliers,
    ),
    OfCleanRows(
        "log_predictive_clean",
        about="Mean log density of each observation that is no outlier, before it is learnt from.",
        unit="nats per observation",
        better="higher",
        uses=("log_predictive",),
        score=partial(on_clean_rows, metric="log_predictive"),
    ),
    OfCleanRows(
        "crps_clean",
        about="Continuous ranked probability score of each value that is no outlier, before it is"
        " learnt.",
        unit="unit of the series",
        bounds=(0.0, None),
        better="lower",
        uses=("crps",),
        score=partial(on_clean_rows, metric="crps"),
    ),
]

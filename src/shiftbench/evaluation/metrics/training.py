"""Metrics of training that learners report in their infos, for the first hypothesis.

NaN for learners that do not report it.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray as xr

from shiftbench.config import provenance
from shiftbench.core.metric import Metric
from shiftbench.evaluation.scoring import run_infos

WIDE, NARROW = 1.0, 0.1
"""Standard deviations of weights between which `gradient_growth` compares."""


def mean_over_tasks(run: xr.Dataset, stream: xr.Dataset, *, info: str) -> np.ndarray:
    """Return the mean over tasks [seed] of an info.

    Compare ELBOs only between fits to the same rows with the same model, prior and weight of the
    divergence. Steps are a cost that is the same on every machine.
    """
    if f"info_{info}" not in run:
        return np.full(run.sizes["seed"], np.nan)
    return run[f"info_{info}"].isel(hypothesis=0).mean("task").values


def gradient_growth(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the ratio [seed] of the gradients' deviations over draws, WIDE to NARROW.

    At the start of training, mean over tasks on the log scale (farquhar2020radial, Fig. 6). NaN
    for learners that do not measure it at both.
    """
    settings = provenance.offering(run, "gradients_at_start")
    sds = [] if settings is None else list(settings["sds"])
    if WIDE not in sds or NARROW not in sds:
        return np.full(run.sizes["seed"], np.nan)
    deviations = run_infos.values(run, "gradient_sd")
    wide, narrow = (np.log(deviations[..., sds.index(sd)]) for sd in (WIDE, NARROW))
    return np.exp((wide - narrow).mean(axis=1))


def gradient_sd(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return log10 of the root mean square deviation [seed] over the last tenth of the tasks.

    For one draw on one minibatch, over the means of the posterior (farquhar2020radial, Fig. 7).
    Over several tasks, since the gradient is 0 where a network is sure of all rows of a minibatch.
    A logarithm, since the mean over seeds decades apart would be that of the largest.
    """
    if "info_gradient_sd" not in run:
        return np.full(run.sizes["seed"], np.nan)
    last = -(-run.sizes["task"] // 10)
    deviations = run["info_gradient_sd"].isel(task=slice(-last, None), hypothesis=0)
    return 0.5 * np.log10((deviations**2).mean("task").values)


def training_accuracy_lost(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the best accuracy on the rows learnt from minus the last one [seed].

    For streams whose tasks all show the same rows, so that they are further training
    (farquhar2020radial, Fig. 7).
    """
    if "info_train_accuracy" not in run:
        return np.full(run.sizes["seed"], np.nan)
    accuracy = run["info_train_accuracy"].isel(hypothesis=0).transpose("seed", "task").values
    return accuracy.max(axis=1) - accuracy[:, -1]


def nll_rise(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return log10 of the NLL of the rows learnt from, at the end over its least value [seed].

    Expected under the posterior, for streams as of `training_accuracy_lost` and for likelihoods of
    classes, whose NLL is positive. A logarithm, as for `gradient_sd`.
    """
    if not {"info_train_accuracy", "info_expected_log_likelihood"} <= {*run.data_vars}:
        return np.full(run.sizes["seed"], np.nan)
    nll = -run["info_expected_log_likelihood"].isel(hypothesis=0).transpose("seed", "task").values
    return np.log10(nll[:, -1] / nll.min(axis=1))


METRICS = [
    Metric(
        "elbo",
        about="The evidence lower bound of a task at the end of its training, on average over the"
        " tasks.",
        unit="nats per task",
        better="higher",
        stage="run",
        from_learner=("log_evidence",),
        score=partial(mean_over_tasks, info="elbo"),
    ),
    Metric(
        "training_steps",
        about="Steps of training of a task, on average over the tasks.",
        unit="steps per task",
        bounds=(0.0, None),
        better="lower",
        stage="run",
        from_learner=("log_evidence",),
        score=partial(mean_over_tasks, info="steps"),
    ),
    Metric(
        "gradient_growth",
        about="How much noisier gradients are from weights of a standard deviation of 1 than from"
        " .1.",
        unit="ratio",
        bounds=(0.0, None),
        better="lower",
        stage="run",
        from_learner=("gradients_at_start",),
        score=gradient_growth,
    ),
    Metric(
        "gradient_sd",
        about="How noisy the likelihood's gradient is at the end: log10 of its deviation over"
        " draws.",
        unit="log10 of nats per parameter",
        better="lower",
        stage="run",
        from_learner=("gradients",),
        score=gradient_sd,
    ),
    Metric(
        "training_accuracy_lost",
        about="How far the accuracy on the rows learnt from has fallen at the end, from where it"
        " was best.",
        unit="fraction",
        bounds=(0.0, 1.0),
        better="lower",
        stage="run",
        from_learner=("gradients",),
        score=training_accuracy_lost,
    ),
    Metric(
        "nll_rise",
        about="How far the negative log likelihood of the rows learnt from has risen at the end,"
        " from where it was least: log10 of the ratio.",
        unit="log10 of a ratio",
        bounds=(0.0, None),
        better="lower",
        stage="run",
        from_learner=("gradients",),
        score=nll_rise,
    ),
]

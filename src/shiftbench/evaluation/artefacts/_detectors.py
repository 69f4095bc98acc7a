"""Runs of the methods of a study that decide about shifts, and of detectors that do not look."""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.core.metric import Metric
from shiftbench.evaluation.scoring import blind_detectors, run_infos, segmentation
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Interval


def inferred(study: StudyResults, stream: str, method: str) -> np.ndarray | None:
    """Return the shifts of the most probable history at the end [seed, task].

    None for a method that does not decide about shifts, one whose runs all failed, and one whose
    run lengths count rows although tasks have several rows.
    """
    run = study.run(stream, method)
    try:
        return segmentation.inferred(run) if run.sizes["seed"] else None
    except segmentation.RowsCounted:
        return None


def of_stream(study: StudyResults, stream: str) -> dict[str, np.ndarray]:
    """Return `inferred` of each method that decides about shifts."""
    shifts = {name: inferred(study, stream, name) for name in study.methods}
    return {name: flags for name, flags in shifts.items() if flags is not None}


def changing(study: StudyResults) -> list[str]:
    """Return the streams with shifts. Without a shift there is nothing to find, and no delay."""
    return [stream for stream, store in study.streams.items() if store["shift"].values.any()]


def runs(study: StudyResults, stream: str) -> dict[str, xr.Dataset]:
    """Return the run of each method that decides about shifts and has a seed that did not fail."""
    of_all = {name: study.run(stream, name) for name in study.methods}
    return {
        name: run
        for name, run in of_all.items()
        if run_infos.has_history(run) and run.sizes["seed"]
    }


def blind(study: StudyResults, stream: str) -> dict[str, xr.Dataset]:
    """Return the run of each detector that does not look, for the seeds of any method."""
    seen = {
        int(seed): int(realisation)
        for method in study.methods
        for seed, realisation in _realisations(study.run(stream, method))
    }
    seeds = sorted(seen)
    realisation = xr.DataArray([seen[seed] for seed in seeds], {"seed": seeds}, ("seed",))
    return blind_detectors.stores(study.streams[stream], realisation)


def scored(study: StudyResults, stream: str, run: xr.Dataset, metric: Metric) -> np.ndarray:
    """Return a metric of a finished run on the seeds of the study [seed]; NaN without a run.

    An artefact imports the module of a metric that the study may not list: so the digest of the
    artefact has the code of the metric.
    """
    return study.on_seeds(run, metric.score(run, study.streams[stream]))


def _realisations(run: xr.Dataset) -> zip:
    return zip(run["seed"].values, run["realisation"].values, strict=True)


def within_window(delay: Interval, window: int) -> Interval:
    """Return the interval of a mean delay, cut off at the window: no delay is longer."""
    return delay._replace(high=np.clip(delay.high, delay.mean, max(window, delay.mean)))

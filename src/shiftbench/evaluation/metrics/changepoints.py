"""Metrics of changepoints in hindsight: of the most probable segmentation of a series.

The truth is what annotators marked, on the values that they saw, or else the true shifts
(`scoring.segmentation`). NaN for streams whose changes are unknown, and for learners that make no
decisions about changes.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray as xr

from shiftbench.core.metric import Metric
from shiftbench.evaluation.scoring import beam_lineage, segmentation
from shiftbench.evaluation.theory import exact_segmentation

MARGIN = 5
"""Margin in points between a changepoint and the true one, as in TCPDBench."""


def f1(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return F1 [seed] with the start of the series as a changepoint; `jump_f1` is without it."""
    return segmentation.scored(
        run, stream, lambda found, true: segmentation.f1(found, true, MARGIN)
    )


def cover(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the covering [seed] of the true segments."""
    return segmentation.scored(run, stream, segmentation.cover)


def false_changepoints(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the number of changepoints [seed] that match none of any annotator.

    Changepoints between the same two annotated values count once, so that `n_changepoints` may be
    larger than false and right ones together.
    """
    return segmentation.scored(
        run, stream, lambda found, true: segmentation.false_changepoints(found, true, MARGIN)
    )


def false_discovery_rate(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the false discovery proportion [seed]; its mean over seeds estimates the rate."""
    return segmentation.scored(run, stream, _false_share)


def _false_share(found: np.ndarray, true: np.ndarray) -> float:
    return segmentation.false_changepoints(found, true, MARGIN) / max(int(found.sum()), 1)


def n_changepoints(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the number of changepoints [seed], without the start of the series."""
    inferred = segmentation.inferred(run)
    if inferred is None:
        return np.full(run.sizes["seed"], np.nan)
    return inferred.sum(axis=1).astype(float)


def run_length_zeros(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the number of tasks [seed] with run length 0, the first task with rows included.

    knoblauch2018robust, 5.1: 145 for standard detection on the well-log. NaN for learners that
    keep no run lengths.
    """
    most_probable = segmentation.run_length_argmax(run)
    if most_probable is None:
        return np.full(run.sizes["seed"], np.nan)
    return (most_probable == 0).sum(axis=1).astype(float)


def run_length_fdr(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the share [seed] of the tasks with run length 0 that match no true changepoint.

    knoblauch2018robust, 5.1, declares a changepoint wherever the most probable run length is 0. The
    first task with rows does not count. NaN for learners that keep no run lengths.
    """
    most_probable = segmentation.run_length_argmax(run)
    flags = None
    if most_probable is not None:
        begun = (most_probable >= 0).cumsum(axis=1)
        flags = (most_probable == 0) & (begun > 1)
    pairs = segmentation.beside_truth(flags, run, stream)
    if pairs is None:
        return np.full(run.sizes["seed"], np.nan)
    return np.array([_false_share(*pair) for pair in pairs])


def exact_map_agreement(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return 1 for each seed [seed] whose jumps are all those of the exact sequence, else 0.

    The exact one is searched among all jump sequences of the run's own model
    (`theory.exact_segmentation`), so it needs a learner whose model that is: a beam with absolute
    broadening (`diffuse`) over `gaussian-mean`, one real value a task. NaN for others.
    """
    exact = exact_segmentation.of_run(run, stream)
    if exact is None:
        return np.full(run.sizes["seed"], np.nan)
    return (beam_lineage.shifts(run) == exact).all(axis=1).astype(float)


OfSegments = partial(Metric, stage="run", refuses=("counts", "blocks"), from_learner=("changes",))
OfTruth = partial(OfSegments, blank=("unknown-truth",))
METRICS = [
    OfTruth(
        "f1",
        about="F1 of the changepoints in hindsight, with a margin of 5, as TCPDBench defines it.",
        unit="fraction",
        bounds=(0.0, 1.0),
        better="higher",
        score=f1,
    ),
    OfTruth(
        "cover",
        about="Covering of the true segments by those found in hindsight, as TCPDBench defines it.",
        unit="fraction",
        bounds=(0.0, 1.0),
        better="higher",
        score=cover,
    ),
    OfTruth(
        "false_changepoints",
        about="Number of changepoints in hindsight without a true one of their own within 5 steps.",
        unit="changepoints",
        bounds=(0.0, None),
        better="lower",
        score=false_changepoints,
    ),
    OfTruth(
        "false_discovery_rate",
        about="Share of the changepoints in hindsight that are false; 0 where there are none.",
        unit="fraction",
        bounds=(0.0, 1.0),
        better="lower",
        score=false_discovery_rate,
    ),
    OfSegments(
        "n_changepoints",
        about="Number of changepoints of the most probable segmentation, in hindsight.",
        unit="changepoints",
        bounds=(0.0, None),
        better=None,
        score=n_changepoints,
    ),
    Metric(
        "run_length_zeros",
        about="Number of tasks after which run length 0 is the most probable one.",
        unit="tasks",
        bounds=(0.0, None),
        better=None,
        stage="run",
        refuses=("counts",),
        from_learner=("run_length",),
        score=run_length_zeros,
    ),
    Metric(
        "run_length_fdr",
        about="Share of the tasks with run length 0, the first one left out, that are no changes.",
        unit="fraction",
        bounds=(0.0, 1.0),
        better="lower",
        stage="run",
        refuses=("counts", "blocks"),
        from_learner=("run_length",),
        blank=("unknown-truth",),
        score=run_length_fdr,
    ),
    Metric(
        "exact_map_agreement",
        about="Whether the most likely history at the end is the exact most likely jump sequence.",
        unit="fraction",
        bounds=(0.0, 1.0),
        better="higher",
        stage="run",
        takes=("value",),
        from_learner=("lineage", "diffusion", "level"),
        score=exact_map_agreement,
    ),
]

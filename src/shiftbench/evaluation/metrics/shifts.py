"""Metrics of inferred shifts against the true shifts of a stream, at the tasks where they are.

They judge the most likely hypothesis at the end of the stream, in hindsight, per seed. Only
`shift_brier` is online, as are the metrics of `metrics.alarms`. NaN for learners that make no
decisions about shifts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import xarray as xr

from shiftbench.core.metric import Metric
from shiftbench.evaluation.scoring import (
    detection,
    segmentation,
    shift_matching,
    shift_probabilities,
)
from shiftbench.evaluation.scoring.shift_matching import MatchCounts

JUMP_MARGIN = 1
"""Tasks by which an inferred jump may miss the true one."""


def matched(
    run: xr.Dataset,
    stream: xr.Dataset,
    *,
    measure: Callable[[MatchCounts], np.ndarray],
    margin: int,
) -> np.ndarray:
    """Return a measure [seed] of shifts matched one to one within `margin` tasks.

    A seed without inferred shifts has no precision, which is NaN and left out of the mean; its
    recall is 0, so read both.
    """
    counts = shift_matching.counts(run, stream, margin)
    return np.full(run.sizes["seed"], np.nan) if counts is None else measure(counts)


def delay(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the mean delay [seed] of the shifts that are found, as `scoring.detection` says.

    NaN for a seed in which none is found. A delay of few found shifts says little: read it beside
    recall.
    """
    inferred = segmentation.inferred(run)
    if inferred is None:
        return np.full(run.sizes["seed"], np.nan)
    pairs = zip(inferred, shift_matching.truth(run, stream), strict=True)
    delays = [detection.delays(*pair) for pair in pairs]
    found = [one[np.isfinite(one)] for one in delays]
    return np.array([one.mean() if len(one) else np.nan for one in found], float)


def brier(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the Brier score [seed] over all tasks but the first.

    0 is perfect; a constant forecast of the base rate b of shifts has b (1 - b). See
    `scoring.shift_probabilities` for the probability that beams and run lengths give. NaN for
    learners that give none.
    """
    true = shift_matching.truth(run, stream)[:, 1:]
    return shift_probabilities.brier(shift_probabilities.filtered(run), true)


OfShifts = partial(
    Metric,
    stage="run",
    requires=("shifts",),
    refuses=("counts", "blocks"),
    from_learner=("changes",),
)
METRICS = [
    OfShifts(
        "shift_precision",
        about="Share of the inferred shifts that are true, at exactly their task, in hindsight.",
        unit="fraction",
        bounds=(0.0, 1.0),
        better="higher",
        score=partial(matched, measure=shift_matching.precision, margin=0),
    ),
    OfShifts(
        "shift_recall",
        about="Share of the true shifts that were inferred, at exactly their task, in hindsight.",
        unit="fraction",
        bounds=(0.0, 1.0),
        better="higher",
        score=partial(matched, measure=shift_matching.recall, margin=0),
    ),
    OfShifts(
        "jump_f1",
        about="F1 of the inferred jumps, matched one to one with the true ones within one step, in"
        " hindsight.",
        unit="fraction",
        bounds=(0.0, 1.0),
        better="higher",
        score=partial(matched, measure=shift_matching.f1, margin=JUMP_MARGIN),
    ),
    OfShifts(
        "shift_delay",
        about="How many tasks later a true shift is placed, mean over those that are found, in"
        " hindsight.",
        unit="tasks",
        bounds=(0.0, None),
        better="lower",
        score=delay,
    ),
    OfShifts(
        "shift_brier",
        about="Brier score of the probability that a task began with a shift, as held right after"
        " it.",
        unit="squared probability",
        bounds=(0.0, 1.0),
        better="lower",
        score=brier,
    ),
]

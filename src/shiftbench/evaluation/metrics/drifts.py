"""Metrics of drifts, which take several tasks: how many alarms a drift raises."""

from __future__ import annotations

from functools import partial

import numpy as np

from shiftbench.core.metric import Metric
from shiftbench.evaluation.metrics.alarms import of_alarms
from shiftbench.evaluation.scoring.alarms import Judged


def alarms_per_drift(of: Judged) -> np.ndarray:
    """Return the mean number of alarms per drift [seed], in its tasks and the w tasks after.

    NaN for a seed without shifts.
    """
    answers = of.raised - of.in_unchanged
    return np.where(of.shifts > 0, answers / np.maximum(of.shifts, 1), np.nan)


METRICS = [
    Metric(
        "alarms_per_drift",
        about="Alarms from the first task of a drift until w tasks after its last; 1: a method"
        " answers each drift once.",
        unit="alarms",
        bounds=(0.0, None),
        better=None,
        stage="run",
        requires=("shifts",),
        refuses=("counts", "blocks"),
        from_learner=("changes",),
        score=partial(of_alarms, measure=alarms_per_drift),
    ),
]

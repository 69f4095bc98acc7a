"""Metrics of the shifts of a single-valued series, matched within ten steps, in hindsight.

As positive predictive value and true positive rate of altamirano2023dsm.
"""

from __future__ import annotations

from functools import partial

from shiftbench.core.metric import Metric
from shiftbench.evaluation.metrics.shifts import matched
from shiftbench.evaluation.scoring import shift_matching

MARGIN = 10
OfSeries = partial(
    Metric,
    stage="run",
    requires=("shifts",),
    takes=("value", "number", "design", "designs"),
    refuses=("counts", "blocks"),
    from_learner=("changes",),
    unit="fraction",
    bounds=(0.0, 1.0),
    better="higher",
)
METRICS = [
    OfSeries(
        "precision_within_10",
        about="Share of the inferred shifts that are true, within ten steps, in hindsight.",
        score=partial(matched, measure=shift_matching.precision, margin=MARGIN),
    ),
    OfSeries(
        "recall_within_10",
        about="Share of the true shifts that were inferred, within ten steps, in hindsight.",
        score=partial(matched, measure=shift_matching.recall, margin=MARGIN),
    ),
]

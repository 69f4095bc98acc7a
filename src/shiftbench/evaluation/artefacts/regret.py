"""Regret at the end of the stream, beside the bounds of cherief2019online, Theorems 1 and 2.

One point per order of the rows: the regret of the predicted mean, and the expected regret under
the posterior, which the theorems bound. Dashes: the bounds, with the stream's own gradients and
with worst-case constants.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.config import bibliography
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(uses=("regret", "expected_regret", "regret_bound", "regret_bound_worst_case"))

POINTS = {"regret": "regret of the mean", "expected_regret": "expected regret"}
DASHES = {
    "regret_bound": "bound, with this stream's gradients",
    "regret_bound_worst_case": "bound, worst case",
}


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw one panel per stream. Raises UserError without one of the metrics."""
    study.require_metrics("regret", *POINTS, *DASHES)
    return figure_style.panel_per_stream(
        study.streams, 3.0, caption(study), study.basis(), partial(_draw_stream, study)
    )


def caption(study: StudyResults) -> str:
    """Describe regret and bounds, the number of runs and the reductions."""
    return (
        "Sum of losses minus that of the best fixed predictor in hindsight; a point is a random "
        "order of the rows, in the same sequence everywhere; dashes: the bounds of "
        f"{bibliography.short('cherief2019online')} for each order (metrics regret_bound and "
        "regret_bound_worst_case), none where no theorem applies. The table regret-table says in "
        "how many orders they hold. "
        f"{study.basis()}"
    )


def _draw_stream(study: StudyResults, panel: Axes, stream: str) -> None:
    for kind, (metric, label) in enumerate(POINTS.items()):
        for x, learner in enumerate(study.learners):
            regret = study.score(stream, learner, metric)
            spread = np.linspace(-0.1, 0.1, len(regret)) + 0.24 * (kind - 0.5)
            panel.plot(
                x + spread,
                regret,
                figure_style.MARKERS[kind],
                color=figure_style.PALETTE[kind],
                ms=3,
                mew=0,
                alpha=0.7,
                label=label if x == 0 else None,
            )
    for kind, (metric, label) in enumerate(DASHES.items()):
        for x, learner in enumerate(study.learners):
            bound = study.score(stream, learner, metric)
            panel.plot(
                x + np.linspace(-0.3, 0.3, len(bound)),
                bound,
                "_",
                color=figure_style.PALETTE[2 + kind],
                ms=5,
                mew=1.5,
                label=label if x == 0 else None,
            )
    # Regret may be negative, and the bounds span decades.
    panel.set_yscale("symlog", linthresh=1.0)
    panel.axhline(0, color=figure_style.MUTED, lw=0.6)
    _mark_missing(panel, study, stream)
    labels = [study.label(learner) for learner in study.learners]
    panel.set_xticks(range(len(labels)), labels)
    panel.set_xlim(-0.6, len(study.learners) - 0.4)
    panel.set_ylabel("regret at the end")


def _mark_missing(panel: Axes, study: StudyResults, stream: str) -> None:
    for x, learner in enumerate(study.learners):
        if all(np.isnan(study.score(stream, learner, metric)).all() for metric in DASHES):
            panel.text(
                x, 0.97, "no\ntheorem", transform=panel.get_xaxis_transform(), ha="center",
                va="top", size=8, color=figure_style.MUTED,
            )  # fmt: skip

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
from shiftbench.evaluation.artefacts import _best
from shiftbench.evaluation.scoring import hindsight
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(uses=("regret", "expected_regret", "regret_bound", "regret_bound_worst_case"))

POINTS = {"regret": "regret of the mean", "expected_regret": "expected regret"}
DASHES = {
    "regret_bound": "bound, with this stream's gradients",
    "regret_bound_worst_case": "bound, worst case",
}

WIDTH, DISTANCE = 0.3, 0.4
"""Width of the points of a method, and the distance of both kinds, in methods."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw one panel per stream. Raises UserError without one of the metrics."""
    study.require_metrics("regret", *POINTS, *DASHES)
    return figure_style.panel_per_stream(
        study.streams,
        3.0,
        message(study),
        _foot(study),
        study.basis(),
        partial(_draw_stream, study),
    )


def caption(study: StudyResults) -> str:
    """Say whether bounds hold, describe them and the regret, the number of runs and reductions."""
    return f"{message(study)}. {_foot(study)}"


def message(study: StudyResults) -> str:
    """Say how many regrets exceed their bound and which comes nearest; without any, who leads."""
    pairs = {
        (stream, method): _pairs(study, stream, method)
        for stream in study.streams
        for method in study.methods
    }
    regrets, bounds = np.concatenate([*pairs.values()], axis=1)
    if not regrets.size:
        return _smallest(study)
    shares = {place: _largest_share(*each) for place, each in pairs.items()}
    worst = max(shares, key=lambda place: shares[place])
    where = study.label(worst[1]) + (f" on {worst[0]}" if len(study.streams) > 1 else "")
    above = int((regrets > bounds).sum())
    if above:
        by = (
            f", by a factor of up to {_best.number(shares[worst])} ({where})"
            if shares[worst] > 1
            else ""
        )
        exceed = "exceeds its" if above == 1 else "exceed their"
        return f"{above:,} of {regrets.size:,} regrets {exceed} bound{by}"
    nearest = f"; the nearest reaches {100 * shares[worst]:.3g} % of it ({where})"
    return f"None of {regrets.size:,} regrets exceeds its bound" + nearest * (shares[worst] > 0)


def _pairs(study: StudyResults, stream: str, method: str) -> np.ndarray:
    """Return the regrets of a method that have a bound, and these bounds [2, point]."""
    each = [
        [study.score(stream, method, name) for name in (regret, bound)]
        for regret, bound in hindsight.BOUNDS.items()
    ]
    both = np.concatenate(each, axis=1)
    return both[:, ~np.isnan(both).any(axis=0)]


def _largest_share(regrets: np.ndarray, bounds: np.ndarray) -> float:
    """Return the largest regret relative to its bound, of bounds above 0; 0 without any."""
    usual = (bounds > 0) & np.isfinite(bounds)
    return float((regrets[usual] / bounds[usual]).max(initial=0.0))


def _smallest(study: StudyResults) -> str:
    """Say which method has the smallest regret of its mean, or on how many streams."""
    scores = {
        stream: {name: study.score(stream, name, "regret") for name in study.methods}
        for stream in study.streams
    }
    return _best.smallest(study, scores, "regret")


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    return (
        "Sum of losses minus that of the best fixed predictor in hindsight; a point is a random "
        "order of the rows, in the same sequence everywhere; above it, a dash: its bound of "
        f"{bibliography.short('cherief2019online')}, none where no theorem applies. "
        f"{study.basis()}"
    )


def _draw_stream(study: StudyResults, panel: Axes, stream: str) -> None:
    """Draw the regrets of each method, each order below or above its bound."""
    for kind, (metric, label) in enumerate(POINTS.items()):
        bound = hindsight.BOUNDS[metric]
        for x, method in enumerate(study.methods):
            regret = study.score(stream, method, metric)
            place = x + WIDTH * np.linspace(-0.5, 0.5, len(regret)) + DISTANCE * (kind - 0.5)
            panel.plot(
                place,
                regret,
                figure_style.MARKERS[kind],
                color=figure_style.PALETTE[kind],
                ms=3,
                mew=0,
                alpha=0.7,
                label=label if x == 0 else None,
            )
            panel.plot(
                place,
                study.score(stream, method, bound),
                "_",
                color=figure_style.PALETTE[2 + list(DASHES).index(bound)],
                ms=5,
                mew=1.5,
                label=DASHES[bound] if x == 0 else None,
            )
    # Regret may be negative, and the bounds span decades.
    panel.set_yscale("symlog", linthresh=1.0)
    panel.axhline(0, color=figure_style.MUTED, lw=0.6)
    _mark_missing(panel, study, stream)
    labels = [study.label(method) for method in study.methods]
    panel.set_xticks(range(len(labels)), labels)
    panel.set_xlim(-0.6, len(study.methods) - 0.4)
    panel.set_ylabel("regret at the end")


def _mark_missing(panel: Axes, study: StudyResults, stream: str) -> None:
    for x, method in enumerate(study.methods):
        if all(np.isnan(study.score(stream, method, metric)).all() for metric in DASHES):
            panel.text(
                x, 0.97, "no\ntheorem", transform=panel.get_xaxis_transform(), ha="center",
                va="top", size=8, color=figure_style.MUTED,
            )  # fmt: skip

"""Scores against the truncation of the weights' noise, with a curve per number of draws.

Fig. 11 of farquhar2020radial; dotted: without truncation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.config import bibliography, components, provenance
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Interval

FACTS = Facts(from_learner=("truncation",), uses=("accuracy", "nll"))


class _TruncationPoint(NamedTuple):
    """Score of a learner: its draws per step, and where its noise is cut (None: nowhere)."""

    draws: int
    cut: float | None
    score: Interval


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw a row per stream and a panel per score. Raises UserError without such runs."""
    study.require_metrics("truncation", *FACTS.uses)
    streams = list(study.streams)
    figure = figure_style.figure(3.3 * len(streams) + 0.3, caption(study), study.basis())
    rows = figure.subplots(len(streams), len(FACTS.uses), squeeze=False)
    letters = figure_style.panel_letters(rows.size)
    for row, (stream, panels) in enumerate(zip(streams, rows, strict=True)):
        for k, (panel, metric) in enumerate(zip(panels, FACTS.uses, strict=True)):
            panel.set_xscale("log")
            _draw_curves(panel, _points(study, stream, metric))
            unit = components.metric(metric).unit
            panel.set(xlabel="cut in standard deviations", ylabel=f"{metric} ({unit})")
            figure_style.set_title(panel, letters[len(FACTS.uses) * row + k], f"{metric}, {stream}")
    figure_style.shared_legend(figure, rows[0, 0])
    return figure


def caption(study: StudyResults) -> str:
    """Describe the curves and the reductions."""
    return (
        f"Test scores after training, as Fig. 11 of {bibliography.short('farquhar2020radial')}, "
        "against "
        "where the noise of each weight is cut; dotted: not cut. Mean over seeds and its "
        f"{statistics.described(*FACTS.uses)}; points of several draws lie aside a little. "
        f"{study.basis()}"
    )


def _points(study: StudyResults, stream: str, metric: str) -> list[_TruncationPoint]:
    """Return the points of truncated runs, and of runs that draw from whole normals."""
    points = []
    for name in study.learners:
        run = study.run(stream, name)
        cut = provenance.offering(run, "truncation")
        settings: dict[str, Any] = cut or provenance.spec(run)["learner"][-1][1]
        if cut is None and settings.get("family") != "gaussian":
            continue
        score = statistics.interval(study.score(stream, name, metric), statistics.bounds(metric))
        points.append(
            _TruncationPoint(settings["draws"], cut["truncation"] if cut else None, score)
        )
    if all(point.cut is None for point in points):
        raise study.lacking("truncation", "a learner whose noise is cut off")
    return points


def _draw_curves(panel: Axes, points: list[_TruncationPoint]) -> None:
    """Draw the curves, shifted so that bars do not cover each other."""
    cuts = sorted({point.cut for point in points if point.cut is not None})
    for line, draws in enumerate(sorted({point.draws for point in points})):
        colour = figure_style.PALETTE[line]
        of_line = [point for point in points if point.draws == draws]
        curve = sorted((point.cut, point.score) for point in of_line if point.cut is not None)
        if curve:
            band = figure_style.as_band(score for _, score in curve)
            panel.errorbar(
                np.array([cut for cut, _ in curve]) * 1.03 ** (line - 1),
                band.mean,
                figure_style.error_bars(band),
                label=f"{draws} draw{'s' * (draws > 1)} a step",
                color=colour,
                marker=figure_style.MARKERS[line],
                ms=4,
                elinewidth=0.8,
            )
        for point in of_line:
            if point.cut is None:
                panel.axhline(point.score.mean, color=colour, ls=":", lw=1.2)
    panel.set_xticks(cuts, [f"{cut:g}" for cut in cuts])
    panel.minorticks_off()

"""Scores against where the noise of weights is cut, a curve for each number of draws.

Fig. 11 of farquhar2020radial; dotted: the same without a cut.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.config import bibliography, components, provenance
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Interval

KIND = "figure"
FROM = ("truncation",)
USES = ("accuracy", "nll")


class _Point(NamedTuple):
    """A run: its draws of a step, and where its noise is cut, None for nowhere."""

    draws: int
    cut: float | None
    score: Interval


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """The figure, a row for each stream, a panel for each score; UserError without such runs."""
    study.require_metrics("truncation", *USES)
    streams = list(study.streams)
    drawn = figure_style.figure(3.3 * len(streams) + 0.3, caption(study), study.budget())
    rows = drawn.subplots(len(streams), len(USES), squeeze=False)
    letters = figure_style.letters(rows.size)
    for place, (stream, panels) in enumerate(zip(streams, rows, strict=True)):
        for k, (panel, metric) in enumerate(zip(panels, USES, strict=True)):
            panel.set_xscale("log")
            _draw(panel, _points(study, stream, metric))
            unit = components.constant("metrics", metric, "UNIT")
            panel.set(xlabel="cut in standard deviations", ylabel=f"{metric} ({unit})")
            figure_style.title(panel, letters[len(USES) * place + k], f"{metric}, {stream}")
    figure_style.legend_above(drawn, rows[0, 0])
    return drawn


def caption(study: StudyResults) -> str:
    """What the curves are, and what is cut."""
    return (
        f"Test scores after training, as Fig. 11 of {bibliography.short('farquhar2020radial')}, "
        "against "
        "where the noise of each weight is cut; dotted: not cut. Mean over seeds and its "
        f"{statistics.described(*USES)}; points of several draws lie aside a little. "
        f"{study.budget()}"
    )


def _points(study: StudyResults, stream: str, metric: str) -> list[_Point]:
    """Of the truncated runs, and of the others that draw from whole normals."""
    found = []
    for name in study.learners:
        run = study.run(stream, name)
        cut = provenance.offering(run, "truncation")
        settings: dict[str, Any] = cut or provenance.spec(run)["learner"][-1][1]
        if cut is None and settings.get("family") != "gaussian":
            continue
        score = statistics.interval(study.score(stream, name, metric), statistics.bounds(metric))
        found.append(_Point(settings["draws"], cut["truncation"] if cut else None, score))
    if all(point.cut is None for point in found):
        raise study.lacking("truncation", "a learner whose noise is cut off")
    return found


def _draw(panel: Axes, points: list[_Point]) -> None:
    """Curves moved aside a little, so that bars do not cover each other."""
    cuts = sorted({point.cut for point in points if point.cut is not None})
    for place, number in enumerate(sorted({point.draws for point in points})):
        colour, marker = figure_style.PALETTE[place], figure_style.MARKERS[place]
        of_number = [point for point in points if point.draws == number]
        curve = sorted((p.cut, p.score) for p in of_number if p.cut is not None)
        if curve:
            at = np.array([cut for cut, _ in curve]) * 1.03 ** (place - 1)
            mean, low, high = np.array([(s.mean, s.low, s.high) for _, s in curve]).T
            bars = np.stack([mean - low, high - mean])
            looks: dict[str, Any] = {"color": colour, "marker": marker, "ms": 4, "elinewidth": 0.8}
            label = f"{number} draw{'s' * (number > 1)} a step"
            panel.errorbar(at, mean, bars, label=label, **looks)
        for point in of_number:
            if point.cut is None:
                panel.axhline(point.score.mean, color=colour, ls=":", lw=1.2)
    panel.set_xticks(cuts, [f"{cut:g}" for cut in cuts])
    panel.minorticks_off()

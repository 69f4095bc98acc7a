"""Scores against the truncation of the weights' noise, with a curve per number of draws.

Fig. 11 of farquhar2020radial; dotted: without truncation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.config import bibliography, metric_words, provenance
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _figure_parts
from shiftbench.evaluation.scoring import statistics, units
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Interval

FACTS = Facts(from_learner=("truncation",), uses=("accuracy", "nll"))


class _TruncationPoint(NamedTuple):
    """Score of a method: its draws per step, and where its noise is cut (None: nowhere)."""

    method: str
    draws: int
    cut: float | None
    score: Interval


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw a row per stream and a panel per score. Raises UserError without such runs."""
    study.require_metrics("truncation", *FACTS.uses)
    streams, height = study.streams, 3.6 + figure_style.MESSAGE
    figure = figure_style.figure(height * len(streams), _foot(study), study.basis())
    letters = iter(figure_style.panel_letters(len(streams) * len(FACTS.uses)))
    for stream, block in figure_style.divide(figure, streams):
        below = figure_style.below_message(block, message(study, stream))
        panels = below.subplots(1, len(FACTS.uses))
        for panel, metric in zip(panels, FACTS.uses, strict=True):
            panel.set_xscale("log")
            _draw_curves(panel, _points(study, stream, metric))
            panel.set(xlabel="cut in standard deviations", ylabel=units.label(metric))
            figure_style.set_title(panel, next(letters), metric_words.words(metric))
        figure_style.shared_legend(below, panels[0])
    return figure


def caption(study: StudyResults) -> str:
    """Say which cut is best, describe the curves and the reductions."""
    return _figure_parts.message_and_foot(study, message, _foot(study))


def message(study: StudyResults, stream: str) -> str:
    """Say which cut has the largest accuracy, beside the largest without a cut."""
    points = _points(study, stream, "accuracy")
    ranked = [each for each in points if each.method not in study.bounds]
    cut, whole = (
        _best([each for each in ranked if (each.cut is None) == is_whole])
        for is_whole in (False, True)
    )
    if cut is None:
        return f"{stream}: no method with a cut has an accuracy"
    with_cut = f"{cut.score.mean:.1f} %"
    sds = f"standard deviation{'s' * (cut.cut != 1)}"
    where = f"{stream}: noise truncated at {cut.cut:g} {sds}"
    if len({each.draws for each in ranked}) > 1:
        where += f", with {cut.draws} draw{'s' * (cut.draws > 1)} a step,"
    if whole is None:
        alone = sum(not np.isnan(each.score.mean) for each in ranked) == 1
        return f"{where} has {'an' if alone else 'the largest'} accuracy of {with_cut}"
    without = f"{whole.score.mean:.1f} %"
    if cut.score.mean <= whole.score.mean:
        said = f"{stream}: truncation does not improve the accuracy"
        return f"{said}: {without} without it, at most {with_cut} with it"
    return (
        f"{where} has the largest accuracy, {with_cut}; without truncation the largest is {without}"
    )


def _best(points: Sequence[_TruncationPoint]) -> _TruncationPoint | None:
    """Return the point with the largest score; None if all have failed."""
    known = [each for each in points if not np.isnan(each.score.mean)]
    return max(known, key=lambda each: each.score.mean, default=None)


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
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
    for name in study.methods:
        run = study.run(stream, name)
        cut = provenance.offering(run, "truncation")
        settings: dict[str, Any] = cut or provenance.spec(run)["learner"][-1][1]
        if cut is None and settings.get("family") != "gaussian":
            continue
        values, bounds = study.score(stream, name, metric), statistics.bounds(metric)
        score = statistics.interval(values, bounds).times(units.factor(metric))
        where = cut["truncation"] if cut else None
        points.append(_TruncationPoint(name, settings["draws"], where, score))
    if all(point.cut is None for point in points):
        raise study.lacking("truncation", "a method whose noise is cut off")
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

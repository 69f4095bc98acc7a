"""How well documents are dated against how many words are updated: li2021vbs, Fig. 5.

One point a learner; those of beams that differ in the prior log-odds alone are joined by a line.
Binning with periods of L: all V words are updated every L periods, and a document is dated to its
bin. A random period of the right bin is off by (L^2 - 1) / (3 L) on average; the paper draws
(L - 1) / 2, which is up to 1.5 times as much.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

from shiftbench.config import bibliography, provenance
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults

KIND = "figure"
USES = ("updates_per_period", "dating_error", "dating_error_of_periods")

RATE = "updates_per_period"
NEAR = 0.1
"""Rates that differ by a smaller share would hide each other's points."""
PANELS = {"dating_error": "each held-out document", "dating_error_of_periods": "each period's text"}


class _Point(NamedTuple):
    rate: float
    error: statistics.Interval


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """One panel a way of dating; UserError where a metric is missing."""
    study.require_metrics("rate-distortion", RATE, *PANELS)
    stream = next(iter(study.streams))
    drawn = figure_style.figure(3.9, caption(study), study.budget([stream]))
    ways = _ways(study, stream)
    panels = drawn.subplots(1, len(ways), squeeze=False)[0]
    letters = figure_style.letters(len(ways))
    for letter, axes, (metric, what) in zip(letters, panels, ways.items(), strict=True):
        _draw_binning(axes, study, stream)
        curves = _curves(study, stream)
        points = [_points(study, stream, metric, learners) for learners in curves.values()]
        for (name, learners), shown in zip(curves.items(), _aside(points), strict=True):
            _draw_curve(axes, name, shown, figure_style.look(study, learners[0]))
        figure_style.title(axes, letter, f"dating {what}")
        axes.set_xscale("symlog", linthresh=1.0)
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.set_xlim(left=-0.05)
        axes.set_ylim(bottom=0)
        axes.set(xlabel="words updated in a period", ylabel="error of dating (periods)")
    figure_style.legend_above(drawn, panels[0])
    return drawn


def caption(study: StudyResults) -> str:
    """What the curves are, on how many runs, and what is cut."""
    stream = next(iter(study.streams))
    store = study.streams[stream]
    return (
        f"{stream}: {store.sizes['word']:,} words, {store.sizes['task']} periods{_years(store)}."
        f" Mean over seeds, bars: {statistics.described(*PANELS)}, where there are several."
        f"{_log_odds(study, stream)} Binning dates all documents to the right bin: mean error of a"
        f" random period of it, and as {bibliography.short('li2021vbs')} draw it. Points of "
        "equal rates"
        " stand aside a little."
        f" {study.budget([stream])}"
    )


def _ways(study: StudyResults, stream: str) -> dict[str, str]:
    """What is dated, by metric: one thing where each period holds out one document."""
    scores = study.cube["score"].sel(stream=stream)
    each, together = (scores.sel(metric=metric).values for metric in PANELS)
    if np.array_equal(each, together, equal_nan=True):
        return {next(iter(PANELS)): "the held-out document of each period"}
    return PANELS


def _years(store: xr.DataTree) -> str:
    years = store.attrs.get("period_years")
    return "" if years is None else " of a year" if years == 1 else f" of {years} years"


def _log_odds(study: StudyResults, stream: str) -> str:
    """What the figure says of the prior log-odds of beams, if there are any."""
    curves = [
        [beam["prior_log_odds"] for one in learners if (beam := _beam(study, stream, one))]
        for learners in _curves(study, stream).values()
    ]
    if along := [odds for curve in curves if len(curve) > 1 for odds in curve]:
        return (
            " Along a beam's line the prior log-odds of a change"
            f" go from {min(along)} (left) to {max(along)}."
        )
    alone = sorted({odds for curve in curves for odds in curve})
    return f" Prior log-odds of a change: {', '.join(map(str, alone))}." if alone else ""


def _beam(study: StudyResults, stream: str, learner: str) -> dict[str, Any] | None:
    return provenance.offering(study.run(stream, learner), "lineage")


def _curves(study: StudyResults, stream: str) -> dict[str, list[str]]:
    """The learners of each curve, by its label: beams alike but for the log-odds, or one learner.

    A curve of beams has the name of their weights or, where others have these too, of its first.
    """
    alike: dict[str, list[str]] = {}
    for learner in study.learners:
        if not np.isnan(study.score(stream, learner, RATE)).all():
            beam = _beam(study, stream, learner)
            key = _but_log_odds(study, stream, learner) if beam else learner
            alike.setdefault(key, []).append(learner)
    names = [_name(study, stream, learners[0]) for learners in alike.values()]
    return {
        study.label(learners[0]) if names.count(name) > 1 else name: learners
        for name, learners in zip(names, alike.values(), strict=True)
    }


def _name(study: StudyResults, stream: str, learner: str) -> str:
    beam = _beam(study, stream, learner)
    return f"VBS, {beam['weights']} weights" if beam else study.label(learner)


def _but_log_odds(study: StudyResults, stream: str, learner: str) -> str:
    """The learner's pipeline without the prior log-odds."""
    pipeline = provenance.spec(study.run(stream, learner))["learner"]
    kept = [
        [name, {k: v for k, v in given.items() if k != "prior_log_odds"}]
        for name, given in pipeline
    ]
    return json.dumps(kept, sort_keys=True)


def _points(study: StudyResults, stream: str, metric: str, learners: Sequence[str]) -> list[_Point]:
    """The points of a curve, by their rate."""
    points = []
    for learner in learners:
        score = study.score(stream, learner, metric)
        error = statistics.interval(score, statistics.bounds(metric))
        rate = float(np.nanmean(study.score(stream, learner, RATE)))
        points.append(_Point(rate, error))
    return sorted(points, key=lambda one: one.rate)


def _aside(curves: list[list[_Point]]) -> list[list[_Point]]:
    """The curves, with those of one point of nearly the same rate beside each other."""
    alone = [place for place, points in enumerate(curves) if len(points) == 1]
    moved = list(curves)
    for place in alone:
        (point,) = curves[place]
        near = [one for one in alone if math.isclose(curves[one][0].rate, point.rate, rel_tol=NEAR)]
        factor = (1 + NEAR) ** (near.index(place) - (len(near) - 1) / 2)
        moved[place] = [point._replace(rate=point.rate * factor)]
    return moved


def _draw_curve(axes: Axes, name: str, points: list[_Point], look: dict[str, Any]) -> None:
    mean = np.array([one.error.mean for one in points])
    low, high = (np.array([getattr(one.error, end) for one in points]) for end in ("low", "high"))
    axes.errorbar(
        [one.rate for one in points],
        mean,
        np.nan_to_num([mean - low, high - mean]),
        **look,
        ms=5,
        capsize=2,
        label=name,
        zorder=3,
    )


def _draw_binning(axes: Axes, study: StudyResults, stream: str) -> None:
    store = study.streams[stream]
    size = np.arange(1, store.sizes["task"] + 1)
    rate = store.sizes["word"] / size
    right = (size**2 - 1) / (3 * size)
    axes.plot(rate, right, color="0.35", lw=1.4, label="binning")
    axes.plot(rate, (size - 1) / 2, color="0.35", lw=1.2, ls=":", label="binning, as in the paper")

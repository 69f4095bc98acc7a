"""Error of dating documents against the number of words updated (li2021vbs, Fig. 5).

One point per method; beams that differ only in the prior log-odds are joined by a line. Lines show
binning, see `evaluation/theory/binning.py`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.config import bibliography, provenance
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _best
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.theory import binning

FACTS = Facts(
    uses=("updates_per_period", "dating_error", "dating_error_of_periods"), rows=("binning-words",)
)

RATE = "updates_per_period"
NEAR = 0.1
"""Relative difference of rates below which points would hide each other."""
PANELS = {"dating_error": "each held-out document", "dating_error_of_periods": "each period's text"}


class _DatingPoint(NamedTuple):
    rate: float
    error: statistics.Interval


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw one panel per way of dating. Raises UserError without one of the metrics."""
    study.require_metrics("rate-distortion", RATE, *PANELS)
    stream = next(iter(study.streams))
    figure = figure_style.figure(3.9 + figure_style.MESSAGE, _foot(study), study.basis([stream]))
    below = figure_style.below_message(figure, message(study))
    ways = _ways(study, stream)
    panels = below.subplots(1, len(ways), squeeze=False)[0]
    letters = figure_style.panel_letters(len(ways))
    for letter, axes, (metric, what) in zip(letters, panels, ways.items(), strict=True):
        _draw_binning(axes, study, stream)
        curves = _curves(study, stream)
        points = [_points(study, stream, metric, methods) for methods in curves.values()]
        for (name, methods), curve in zip(curves.items(), _moved_apart(points), strict=True):
            _draw_curve(axes, name, curve, figure_style.method_style(study, methods[0]))
        figure_style.set_title(axes, letter, f"dating {what}")
        axes.set_xscale("symlog", linthresh=1.0)
        axes.xaxis.set_major_formatter(figure_style.THOUSANDS)
        axes.set_xlim(left=-0.05)
        axes.set_ylim(bottom=0)
        axes.set(xlabel="words updated in a period", ylabel="error of dating (periods)")
    figure_style.shared_legend(below, panels[0])
    return figure


def caption(study: StudyResults) -> str:
    """Say what dates texts best, describe the curves, the number of runs and the reductions."""
    return f"{message(study)}. {_foot(study)}"


def message(study: StudyResults) -> str:
    """Say which curve has the smallest error of dating, and the error at the other end of rates."""
    stream = next(iter(study.streams))
    found = _ranked(study, stream)
    if not found:
        return f"{stream}: no method dates a text"
    least = min(point.error.mean for _, point in found)
    tied = [each for each in found if _equal(each[1].error.mean, least)]
    best, point = min(tied, key=lambda each: each[1].rate)
    off = f"{point.error.mean:.2f} periods off"
    words = f"{study.streams[stream].sizes['word']:,}"
    start = f"{stream}: {best} dates texts"
    if len(found) > 1:
        start += " as well as any," if {name for name, _ in tied} != {best} else " best,"
    start += f" {off} with {_number(point.rate)} of {words} words updated per period"
    rates = [one.rate for _, one in found]
    compared = _others(study, stream)
    at_most = _equal(point.rate, max(rates))
    end, which = (min(rates), "fewest") if at_most else (max(rates), "most")
    if _equal(end, point.rate):
        return start + compared
    others = [each for each in found if _equal(each[1].rate, end)]
    name, other = min(others, key=lambda each: each[1].error.mean)
    start += ", the most" if at_most else ""
    return (
        f"{start}; with the {which}, {_number(end)}, {name} is {other.error.mean:.2f} periods off"
        f"{compared}"
    )


def _others(study: StudyResults, stream: str) -> str:
    """Return the clause on how the best points of other curves compare with the best of all."""
    metric = next(iter(_ways(study, stream)))
    scores = {name: study.score(stream, name, metric) for name in study.methods}
    means = {name: -mean for name, mean in _best.means(study, scores).items()}
    labels = {}
    for curve, methods in _curves(study, stream).items():
        if first := _best.largest({name: means[name] for name in methods if name in means}):
            labels[first[0]] = curve if len(methods) == 1 else f"{curve} at its best"
    firsts = {name: scores[name] for name in labels}
    best = [name for name in _best.largest(means) if name in firsts]
    named = replace(study, labels={**study.labels, **labels})
    return _best.others(named, firsts, best, lower=True)


def _ranked(study: StudyResults, stream: str) -> list[tuple[str, _DatingPoint]]:
    """Return the points of the first panel by their curve, without bounds and failed methods."""
    metric = next(iter(_ways(study, stream)))
    return [
        (name, point)
        for name, methods in _curves(study, stream).items()
        for point in _points(study, stream, metric, [n for n in methods if n not in study.bounds])
        if not np.isnan(point.error.mean)
    ]


def _equal(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_best.SAME)


def _number(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    stream = next(iter(study.streams))
    store = study.streams[stream]
    return (
        f"{stream}: {store.sizes['word']:,} words, {store.sizes['task']} periods{_years(store)}."
        f" Mean over seeds, bars: {statistics.described(*PANELS)}, where there are several."
        f"{_log_odds(study, stream)} Binning assigns each document a random period of the right"
        f" bin (solid); dotted: as {bibliography.short('li2021vbs')} draw it. Points of equal rates"
        f" are moved apart a little. {study.basis([stream])}"
    )


def _ways(study: StudyResults, stream: str) -> dict[str, str]:
    """Return the dated texts by metric; a single one if each period holds out one document."""
    scores = study.cube["score"].sel(stream=stream)
    documents, periods = (scores.sel(metric=metric).values for metric in PANELS)
    if np.array_equal(documents, periods, equal_nan=True):
        return {next(iter(PANELS)): "the held-out text of each period"}
    return PANELS


def _years(store: xr.DataTree) -> str:
    years = store.attrs.get("period_years")
    return "" if years is None else " of a year" if years == 1 else f" of {years} years"


def _log_odds(study: StudyResults, stream: str) -> str:
    """Return the sentence on the prior log-odds of beams; empty without beams."""
    curves = [
        [beam["prior_log_odds"] for name in methods if (beam := _beam(study, stream, name))]
        for methods in _curves(study, stream).values()
    ]
    if along := [odds for curve in curves if len(curve) > 1 for odds in curve]:
        return (
            " Along a beam's line the prior log-odds of a change"
            f" go from {min(along)} (left) to {max(along)}."
        )
    alone = sorted({odds for curve in curves for odds in curve})
    return f" Prior log-odds of a change: {', '.join(map(str, alone))}." if alone else ""


def _beam(study: StudyResults, stream: str, method: str) -> dict[str, Any] | None:
    return provenance.offering(study.run(stream, method), "lineage")


def _curves(study: StudyResults, stream: str) -> dict[str, list[str]]:
    """Return the methods of each curve, by its label: beams of equal settings, or one method.

    Log-odds may differ. A curve of beams is named after their weights or, if several curves have
    these, after its first method.
    """
    groups: dict[str, list[str]] = {}
    for method in study.methods:
        if not np.isnan(study.score(stream, method, RATE)).all():
            beam = _beam(study, stream, method)
            key = _without_log_odds(study, stream, method) if beam else method
            groups.setdefault(key, []).append(method)
    names = [_name(study, stream, methods[0]) for methods in groups.values()]
    return {
        study.label(methods[0]) if names.count(name) > 1 else name: methods
        for name, methods in zip(names, groups.values(), strict=True)
    }


def _name(study: StudyResults, stream: str, method: str) -> str:
    beam = _beam(study, stream, method)
    if not beam:
        return study.label(method)
    return f"VBS, {'Bayes' if beam['weights'] == 'bayes' else beam['weights']} weights"


def _without_log_odds(study: StudyResults, stream: str, method: str) -> str:
    """Return the method's pipeline without the prior log-odds, as JSON."""
    pipeline = provenance.spec(study.run(stream, method))["learner"]
    kept = [
        [name, {key: value for key, value in settings.items() if key != "prior_log_odds"}]
        for name, settings in pipeline
    ]
    return json.dumps(kept, sort_keys=True)


def _points(
    study: StudyResults, stream: str, metric: str, methods: Sequence[str]
) -> list[_DatingPoint]:
    """Return the points of a curve, in order of their rate."""
    points = []
    for method in methods:
        score = study.score(stream, method, metric)
        error = statistics.interval(score, statistics.bounds(metric))
        rate = float(np.nanmean(study.score(stream, method, RATE)))
        points.append(_DatingPoint(rate, error))
    return sorted(points, key=lambda point: point.rate)


def _moved_apart(curves: list[list[_DatingPoint]]) -> list[list[_DatingPoint]]:
    """Return the curves, with single points of nearly equal rates moved beside each other."""
    singles = [index for index, points in enumerate(curves) if len(points) == 1]
    moved = list(curves)
    for index in singles:
        (point,) = curves[index]
        near = [i for i in singles if math.isclose(curves[i][0].rate, point.rate, rel_tol=NEAR)]
        factor = (1 + NEAR) ** (near.index(index) - (len(near) - 1) / 2)
        moved[index] = [point._replace(rate=point.rate * factor)]
    return moved


def _draw_curve(axes: Axes, name: str, points: list[_DatingPoint], style: dict[str, Any]) -> None:
    errors = figure_style.as_band(point.error for point in points)
    axes.errorbar(
        [point.rate for point in points],
        errors.mean,
        np.nan_to_num(figure_style.error_bars(errors)),
        **style,
        ms=5,
        capsize=2,
        label=name,
        zorder=3,
        clip_on=False,
    )


def _draw_binning(axes: Axes, study: StudyResults, stream: str) -> None:
    store = study.streams[stream]
    size = np.arange(1, store.sizes["task"] + 1)
    rate = store.sizes["word"] / size
    errors, printed = binning.error(size), binning.error_as_printed(size)
    axes.plot(rate, errors, color="0.35", lw=1.4, label="binning")
    axes.plot(rate, printed, color="0.35", lw=1.2, ls=":", label="binning, as in the paper")

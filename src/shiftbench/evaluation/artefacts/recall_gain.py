"""Accuracy on a distribution that comes back, beside that on a fresh one in its place.

A method that keeps what it has learnt predicts a distribution that returns better than a fresh one,
even before it learns from it. The fresh one is in the twin stream, at the same tasks and seeds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.config import provenance
from shiftbench.core.errors import UserError
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _best
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Interval

FACTS = Facts(requires=("returns",), uses=("return_accuracy",))

METRIC = "return_accuracy"
ROW_INCHES = 0.34


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw two panels for each stream and its twin. Raises UserError without a twin."""
    pairs = twins(study)
    height = 1.55 + ROW_INCHES * len(study.methods)
    figure = figure_style.figure(height * len(pairs), _foot(study), study.basis())
    letters = iter(figure_style.panel_letters(2 * len(pairs)))
    for (stream, twin), block in figure_style.divide(figure, pairs):
        figure_style.set_message(block, message(study, stream, twin))
        left, right = block.subplots(1, 2, sharey=True, width_ratios=[3, 2])
        _draw_accuracy(left, study, stream, twin)
        _draw_gain(right, study, stream, twin)
        figure_style.set_title(left, next(letters), "first task of a return, before it is learnt")
        figure_style.set_title(right, next(letters), "gain: what came back of what was learnt")
    return figure


def caption(study: StudyResults) -> str:
    """Say who gains most, describe the figure, the number of runs and the reductions."""
    messages = [message(study, *pair) for pair in twins(study)]
    return f"{'. '.join(messages)}. {_foot(study)}"


def message(study: StudyResults, stream: str, twin: str) -> str:
    """Say which method gains most where a distribution comes back, beside bounds."""
    gains = {name: gain(study, stream, twin, name).times(100) for name in study.methods}
    kept = _best.ranked(study, {name: of.mean for name, of in gains.items()})
    best = _best.largest(kept)
    what = "from a distribution that comes back"
    if not best:
        return f"{stream}: no method has an accuracy on a distribution that comes back"
    points = gains[best[0]].mean
    number = f"{abs(points):.1f} points{_best.unclear([gains[name] for name in best])}"
    several, label = len(best) > 1, _best.names(study, best)
    if points <= 0:
        loses = ("lose" if several else "loses") + " least," * (len(kept) > 1)
        return f"{stream}: no method gains {what}; {label} {loses} {number}"
    if len(kept) == 1:
        return f"{stream}: {label} gains {number} {what}"
    scores = {
        name: study.score(stream, name, METRIC) - study.score(twin, name, METRIC) for name in kept
    }
    most = f"{stream}: {label} {'gain' if several else 'gains'} most {what}, {number}"
    return f"{most}{_best.others(study, scores, best)}"


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    interval = statistics.described(METRIC)
    return (
        "Accuracy on the training rows of the first task of each return, before they are learnt: "
        "of a distribution that has occurred before (filled), and of a fresh one that a twin "
        f"stream has in its place (hollow). Right: the difference, paired by seed. Bars: "
        f"{interval} of the mean over seeds. {study.basis()}"
    )


def twins(study: StudyResults) -> list[tuple[str, str]]:
    """Return each stream whose distributions come back, with its twin.

    They have the same shifts, and the twin stands for the distributions of its stream. Raises
    UserError without pairs, and for a twin that is not of exactly one stream.
    """
    fresh = [name for name, store in study.streams.items() if "stands_for" in store]
    others = [
        name for name, store in study.streams.items() if "concept" in store and name not in fresh
    ]
    if not fresh or len(fresh) != len(others):
        what = "streams with the schedule recurring, each with a twin (recurring-twin) beside it"
        raise study.lacking("recall-gain", what)
    study.require_metrics("recall-gain", METRIC)
    pairs: dict[str, str] = {}
    for twin in fresh:
        matching = _stood_for(study, twin, others)
        if len(matching) != 1 or matching[0] in pairs:
            raise UserError(
                f"study {study.name}: recall-gain cannot tell whether {twin} is the twin of"
                f" {' or '.join(others)}: its `stands_for` and `shift` must be the `concept` and"
                " `shift` of one stream; give each pair the same settings but for the schedule"
            )
        pairs[matching[0]] = twin
    return [(name, pairs[name]) for name in others]


def _stood_for(study: StudyResults, twin: str, streams: list[str]) -> list[str]:
    """Return the streams with the truth of a twin; of several, those with its settings."""
    store = study.streams[twin]
    truth = store["stands_for"].values, store["shift"].values
    matching = [
        name
        for name in streams
        for other in [study.streams[name]]
        if np.array_equal(truth[0], other["concept"].values)
        and np.array_equal(truth[1], other["shift"].values)
    ]
    if len(matching) < 2:
        return matching
    settings = _settings(store)
    return [name for name in matching if _settings(study.streams[name]) == settings]


def _settings(store: xr.Dataset) -> tuple[str, dict[str, Any]]:
    """Return the family of a stream and its settings but for the schedule."""
    spec = provenance.spec(store)
    settings = {name: value for name, value in spec["settings"].items() if name != "schedule"}
    return spec["family"], settings


def gain(study: StudyResults, stream: str, twin: str, method: str) -> Interval:
    """Return the accuracy on returns minus that on fresh distributions, paired by seed."""
    scores = (study.score(name, method, METRIC) for name in (stream, twin))
    first, second = scores
    return statistics.paired_difference(first, second, statistics.bounds(METRIC))


def _draw_accuracy(axes: Axes, study: StudyResults, stream: str, twin: str) -> None:
    within = statistics.bounds(METRIC)
    for row, method in enumerate(study.methods):
        style = figure_style.method_style(study, method)
        for name, fill, shift in ((stream, style["color"], -0.13), (twin, "white", 0.13)):
            of = statistics.interval(study.score(name, method, METRIC), within).times(100)
            bars = figure_style.error_bars(of)
            axes.errorbar(
                of.mean, row + shift, xerr=bars, **style, mfc=fill, ms=5, capsize=2, lw=1.1
            )
    axes.set_yticks(range(len(study.methods)), [study.label(name) for name in study.methods])
    for label, method in zip(axes.get_yticklabels(), study.methods, strict=True):
        label.set_color(figure_style.method_style(study, method)["color"])
        label.set_fontweight("bold")
    axes.set_ylim(len(study.methods) + 0.2, -0.5)  # with room for the legend
    axes.set_xlabel("accuracy (%)")
    ink = {"color": figure_style.INK, "ls": "", "marker": "o", "ms": 5}
    axes.plot([], [], **ink, label="comes back")
    axes.plot([], [], **ink, mfc="white", label="fresh, in a twin stream")
    axes.legend(loc="lower right", ncols=2)


def _draw_gain(axes: Axes, study: StudyResults, stream: str, twin: str) -> None:
    axes.axvline(0, color="black", lw=1.2)
    for row, method in enumerate(study.methods):
        of = gain(study, stream, twin, method).times(100)
        style, bars = figure_style.method_style(study, method), figure_style.error_bars(of)
        axes.errorbar(of.mean, row, xerr=bars, **style, ms=5, capsize=2)
    axes.tick_params(axis="y", labelleft=False)
    axes.set_xlabel("comes back minus fresh (percentage points)")

"""Accuracy lost, shifts that raise an alarm, and false alarms, by the kind of shift of a stream.

The streams of a study differ only in what changes. The accuracy lost on a stream is the accuracy on
the stream that does not change minus that on the stream, on the same tasks and seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _best
from shiftbench.evaluation.scoring import alarms, statistics
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Interval

FACTS = Facts(
    requires=("shifts",), uses=("accuracy", "episode_recall", "false_alarm_rate_unchanged")
)

LOSS, FOUND, FALSE = FACTS.uses
CHANGES = {
    "map": "affine map\nof images",
    "rows": "brightness\nof images",
    "shares": "shares of\nclasses",
    "labels": "meaning of\nlabels",
    "none": "nothing",
}
"""Names of the changed part of the data, by the setting `change` of a stream."""
STEP, SPREAD = 0.2, 0.7
"""Horizontal distance of methods within a kind, and the largest range of all of them."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw three panels. Raises UserError without metrics, or without an unchanged stream."""
    study.require_metrics("kinds-of-shift", *FACTS.uses)
    still = unchanged(study)
    moving = [name for name in study.streams if name != still]
    figure = figure_style.figure(3.6 + figure_style.MESSAGE, _foot(study), study.basis())
    below = figure_style.below_message(figure, message(study))
    panels = below.subplots(1, 3, width_ratios=[len(moving), len(moving), len(moving) + 1])
    panels[0].axhline(0, color="black", lw=1.2)
    _draw(panels[0], study, moving, study.methods, lambda *at: loss(study, still, *at))
    for axes, metric, streams in (
        (panels[1], FOUND, moving),
        (panels[2], FALSE, [*moving, still]),
    ):
        detectors = [name for name in study.methods if _decides(study, name, metric)]
        _draw(axes, study, streams, detectors, _score_of(study, metric))
    panels[0].set_ylabel("accuracy lost (percentage points)")
    panels[1].set_ylabel("shifts that raise an alarm (%)")
    panels[1].set_ylim(-3, 103)
    panels[2].set_ylabel("alarms in 1,000 unchanged tasks")
    titles = ("what a shift costs", "who notices it", "who is alarmed by nothing")
    for axes, letter, title in zip(panels, "abc", titles, strict=True):
        figure_style.set_title(axes, letter, title)
    figure_style.shared_legend(below, panels[0])
    return figure


def caption(study: StudyResults) -> str:
    """Say which shifts cost most, describe the panels, the number of runs and the reductions."""
    return f"{message(study)}. {_foot(study)}"


def message(study: StudyResults) -> str:
    """Say which shifts cost the most accuracy, mean over methods, and which methods notice them."""
    still = unchanged(study)
    moving = [name for name in study.streams if name != still]
    lost = {
        stream: _best.ranked(
            study, {each: loss(study, still, stream, each).mean for each in study.methods}
        )
        for stream in moving
    }
    if not any(lost.values()):
        return "No method has an accuracy with and without shifts"
    costly = [stream for stream in moving if max(lost[stream].values(), default=0) > 0]
    if not costly:
        return "No shift costs a method accuracy"
    stream = max(costly, key=lambda each: mean(lost[each].values()))
    name = max(lost[stream], key=lambda each: lost[stream][each])
    points = f"{lost[stream][name]:.1f} points"
    start = f"Shifts in {' '.join(_change(study, stream).split())} cost"
    if len(moving) > 1:
        start = f"{start} the most accuracy, up to {points} ({study.label(name)})"
    else:
        start = f"{start} up to {points} of accuracy ({study.label(name)})"
    found = {each: 100 * study.score(stream, each, FOUND) for each in study.methods}
    return f"{start}{_noticing(study, found)}"


def _noticing(study: StudyResults, scores: _best.Scores) -> str:
    """Say which methods notice the most of the shifts named before; empty without scores."""
    means = _best.means(study, scores)
    if not means:
        return ""
    best = _best.largest(means)
    who, percent = _best.names(study, best), f"{means[best[0]]:.1f} %"
    if not means[best[0]]:
        return "; no method notices these"
    if len(means) == 1:
        return f"; {who} notices {percent} of these"
    most = f"; {who} notice{'' if len(best) > 1 else 's'} the most of these, {percent}"
    return f"{most}{_best.others(study, scores, best)}"


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    moving = [stream for name, stream in study.streams.items() if name != unchanged(study)]
    window = alarms.horizon(moving[0]).window
    return (
        "Streams differ only in what changes; the kind of shift is in brackets. Left: accuracy "
        "where nothing changes minus accuracy where something does, on the same tasks. Middle: "
        f"shifts with an alarm at most {window} tasks later; high is good where accuracy is lost. "
        "Right: alarms in all other tasks. Mean over seeds, and its "
        f"{statistics.described(*FACTS.uses)}. {study.basis()}"
    )


def unchanged(study: StudyResults) -> str:
    """Return the stream that does not change. Raises UserError unless there is one."""
    names = [n for n, store in study.streams.items() if store.attrs.get("shift_kind") == "none"]
    if len(names) != 1:
        raise study.lacking("kinds-of-shift", "one stream of shifted-images with `change: none`")
    return names[0]


def loss(study: StudyResults, still: str, stream: str, method: str) -> Interval:
    """Return the percentage points of accuracy that are lost on a stream, paired by seed."""
    first, second = (study.score(name, method, LOSS) for name in (still, stream))
    return statistics.paired_difference(first, second, statistics.bounds(LOSS)).times(100)


def _decides(study: StudyResults, method: str, metric: str) -> bool:
    scores = [study.score(stream, method, metric) for stream in study.streams]
    return not np.isnan(np.concatenate(scores)).all()


def _score_of(study: StudyResults, metric: str) -> Callable[[str, str], Interval]:
    """Return the function from stream and method to the score, in percent where a fraction."""
    within, factor = statistics.bounds(metric), 100 if metric == FOUND else 1
    return lambda stream, method: statistics.interval(
        study.score(stream, method, metric), within
    ).times(factor)


def _draw(
    axes: Axes,
    study: StudyResults,
    streams: list[str],
    methods: list[str],
    number: Callable[[str, str], Interval],
) -> None:
    """Draw the number of each method on each stream, the methods beside each other."""
    steps = np.arange(len(methods)) - (len(methods) - 1) / 2
    shifts = steps * min(STEP, SPREAD / max(len(methods) - 1, 1))
    for shift, method in zip(shifts, methods, strict=True):
        band = figure_style.as_band(number(stream, method) for stream in streams)
        axes.errorbar(
            np.arange(len(streams)) + shift,
            band.mean,
            np.nan_to_num(figure_style.error_bars(band)),
            **figure_style.method_style(study, method),
            label=study.label(method),
            ls="",
            ms=4.5,
            elinewidth=0.9,
            capsize=1.5,
        )
    figure_style.divide_levels(axes, len(streams))
    axes.set_xticks(range(len(streams)), [_title(study, stream) for stream in streams])


def _title(study: StudyResults, stream: str) -> str:
    """Return what changes on a stream, above its kind of shift."""
    words, kind = _change(study, stream), study.streams[stream].attrs["shift_kind"]
    return words if kind == "none" else f"{words}\n({kind})"


def _change(study: StudyResults, stream: str) -> str:
    """Return what changes on a stream in words, on two lines, or the stream's name."""
    return CHANGES.get(study.streams[stream].attrs.get("change", ""), stream)

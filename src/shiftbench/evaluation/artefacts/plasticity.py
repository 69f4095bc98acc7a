"""Accuracy on each task while it is learnt, against the number of tasks before it.

The accuracy is that of the metric `plasticity`, averaged over a window of tasks, since single tasks
differ in how hard they are. All methods of a seed see the same tasks.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts import _best, _continual, _figure_parts
from shiftbench.evaluation.metrics import plasticity
from shiftbench.evaluation.scoring import statistics, units
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Interval

SLOPE = "plasticity_slope"
FACTS = Facts(requires=("tests",), uses=("accuracy", "plasticity_slope"))

WINDOWS = 12
"""Number of windows into which the length of a stream is divided."""
PERCENT = (0.0, 100.0)
GAP = 0.045
"""Smallest distance between two names beside a panel, as a share of its height."""
PANEL, LETTER, MEAN = 5.8, 0.076, 1.3
"""Widths of a panel, of a letter of names beside it, and of the means, in inches."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw a panel per stream. Raises UserError without accuracies or slopes."""
    _continual.check(study, "plasticity", ("accuracy", SLOPE))
    canvas = figure_style.figure(3.9 * len(study.streams), _foot(study), study.basis())
    letters = figure_style.panel_letters(len(study.streams))
    for letter, (stream, block) in zip(
        letters, figure_style.divide(canvas, study.streams), strict=True
    ):
        # The right part holds the names, each beside the end of its line.
        axes, beside = block.subplots(1, 2, sharey=True, width_ratios=[1.35, 1])
        beside.set_axis_off()
        _draw_stream(axes, study, stream)
        figure_style.set_message(block, message(study, stream))
        figure_style.set_title(axes, letter, "")
    return canvas


def caption(study: StudyResults) -> str:
    """Say who is the most accurate, describe the lines, the number of runs and the reductions."""
    return _figure_parts.message_and_foot(study, message, _foot(study))


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    widths = dict.fromkeys(str(_window(study, stream)) for stream in study.streams)
    return (
        "Accuracy on the test rows of the task at hand, mean over the looks while it is learnt and"
        f" over {', '.join(widths)} tasks in a row, then over seeds; dashed: methods that start"
        f" each task from scratch; in colour: the {highlights.MOST} most accurate. Beside them: the"
        f" mean over all tasks, with its {statistics.described('plasticity')}, and the slope"
        f" (Theil-Sen) with its {statistics.described(SLOPE)}. {study.basis()}"
    )


def _window(study: StudyResults, stream: str) -> int:
    """Return the number of tasks that a point averages over."""
    return max(1, study.streams[stream].sizes["task"] // WINDOWS)


def message(study: StudyResults, stream: str) -> str:
    """Say which method is most accurate while it learns, of all and of those without restarts."""
    scores = {name: _scores(study, stream, name) for name in study.methods}
    means = {name: statistics.interval(of).mean for name, of in scores.items()}
    order = highlights.leaders(means, len(means))
    if not order:
        return f"{stream}: no method has an accuracy while it learns"
    best = order[0]
    text = f"{stream}: {study.label(best)} is the most accurate while it learns"
    text += f", {means[best]:.1f} %"
    going = [name for name in order if not _continual.forgets(study, stream, name)]
    if best not in going and going:
        text += f"; of methods without a new start, {study.label(going[0])}"
        text += f", {means[going[0]]:.1f} %"
    compared = order if best in going else going
    return text + _best.others(study, {name: scores[name] for name in compared}, going[:1])


def _scores(study: StudyResults, stream: str, method: str) -> np.ndarray:
    """Return the mean accuracy while tasks are learnt, in percent [seed]; NaN for failed seeds."""
    run = study.run(stream, method)
    return study.on_seeds(run, 100 * plasticity.accuracy_while_learnt(run).mean(axis=1))


def _draw_stream(axes: Axes, study: StudyResults, stream: str) -> None:
    """Draw the lines of a panel, with names and means beside them."""
    width = _window(study, stream)
    lines: dict[str, np.ndarray] = {}
    means: dict[str, Interval] = {}
    for name in study.methods:
        each = 100 * plasticity.accuracy_while_learnt(study.run(stream, name))
        if len(each):
            window = np.full(width, 1 / width)
            lines[name] = np.convolve(each.mean(0), window, mode="valid")
            means[name] = statistics.interval(each.mean(1), PERCENT)
    coloured = highlights.leaders({name: each.mean for name, each in means.items()})
    for name, line in lines.items():
        style = highlights.style(study, name, coloured) | {"marker": ""}
        if _continual.forgets(study, stream, name):
            style["ls"] = "--"
        axes.plot(np.arange(len(line)) + (width + 1) / 2, line, **style)
    axes.set(xlabel="task", ylabel="accuracy while the task is learnt (%)")
    axes.set_xlim(1, study.streams[stream].sizes["task"])
    low, high = axes.get_ylim()
    axes.set_ylim(max(0.0, low), min(100.0, high))
    ends = {name: line[-1] for name, line in lines.items()}
    _name_lines(axes, study, stream, ends, means, coloured)


def _name_lines(
    axes: Axes,
    study: StudyResults,
    stream: str,
    ends: dict[str, float],
    means: dict[str, Interval],
    coloured: list[str],
) -> None:
    """Write name, mean and slope of each method beside its line, without overlaps."""
    low, high = axes.get_ylim()
    heads = ("", "mean (%)", "slope (points per 100 tasks)")
    heights = _apart([(end - low) / (high - low) for end in ends.values()])
    top = max([1.0, *(height + GAP for height in heights)])
    names = max(len(study.label(name)) for name in ends) * LETTER / PANEL
    columns = (1.02, 1.02 + names, 1.02 + names + MEAN / PANEL)
    for x, head in zip(columns, heads, strict=True):
        axes.text(
            x, top, head, transform=axes.transAxes, size=8, color=figure_style.MUTED,
            in_layout=False,
        )  # fmt: skip
    for (name, end), height in zip(ends.items(), heights, strict=True):
        slope = statistics.interval(100 * study.score(stream, name, SLOPE))
        mean = means[name]
        style = highlights.style(study, name, coloured)
        colour = highlights.readable(style["color"]) if name in coloured else figure_style.MUTED
        words = (
            study.label(name),
            units.interval(mean.mean, mean.low, mean.high, units.decimals(1)),
            units.interval(slope.mean, slope.low, slope.high, "{:+z.1f}".format),
        )
        axes.annotate(
            words[0],
            (1, (end - low) / (high - low)),
            (columns[0], height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            color=colour,
            size=8.5,
            va="center",
            in_layout=False,
            arrowprops={
                "arrowstyle": "-", "color": style["color"], "lw": 0.6, "shrinkA": 1, "shrinkB": 1,
            },
        )  # fmt: skip
        for x, text in zip(columns[1:], words[1:], strict=True):
            axes.text(
                x, height, text, transform=axes.transAxes, size=8.5, va="center", color=colour,
                in_layout=False,
            )  # fmt: skip


def _apart(heights: list[float]) -> list[float]:
    """Return heights at least GAP apart, in the same order, each as near its own as possible."""
    order = np.argsort(heights, kind="stable")
    placed = np.empty(len(heights))
    placed[order] = highlights.spread(np.array(heights)[order], GAP)
    return placed.tolist()

"""Accuracy on each task while it is learnt, against the number of tasks before it.

The accuracy is that of the metric `plasticity`, averaged over a window of tasks, since single tasks
differ in how hard they are. All learners of a seed see the same tasks.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _continual
from shiftbench.evaluation.metrics import plasticity
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults

SLOPE = "plasticity_slope"
FACTS = Facts(requires=("tests",), uses=("accuracy", "plasticity_slope"))

WINDOWS = 12
"""Number of windows into which the length of a stream is divided."""
PERCENT = (0.0, 100.0)
GAP = 0.045
"""Smallest distance between two names beside a panel, as a share of its height."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw a panel per stream. Raises UserError without accuracies or slopes."""
    _continual.check(study, "plasticity", ("accuracy", SLOPE))
    canvas = figure_style.figure(3.9 * len(study.streams), caption(study), study.budget())
    letters = figure_style.panel_letters(len(study.streams))
    for letter, (stream, block) in zip(
        letters, figure_style.divide(canvas, study.streams), strict=True
    ):
        # The right half holds the names, each beside the end of its line.
        axes, beside = block.subplots(1, 2, sharey=True, width_ratios=[4.4, 1])
        beside.set_axis_off()
        _draw_stream(axes, study, stream)
        figure_style.set_title(axes, letter, stream)
    return canvas


def caption(study: StudyResults) -> str:
    """Describe the lines, the number of runs and the reductions."""
    widths = dict.fromkeys(str(_window(study, stream)) for stream in study.streams)
    spread = figure_style.spread_note(study, statistics.described("plasticity"))
    return (
        "Accuracy on the test rows of the task at hand, mean over the looks while it is learnt and"
        f" over {', '.join(widths)} tasks in a row, then over seeds; {spread};"
        " dashed: learners that start each task from scratch. Beside the lines:"
        " the slope over all tasks (Theil-Sen, mean over seeds), in points per 100 tasks, with its"
        f" {statistics.described(SLOPE)}. {study.budget()}"
    )


def _window(study: StudyResults, stream: str) -> int:
    """Return the number of tasks that a point averages over."""
    return max(1, study.streams[stream].sizes["task"] // WINDOWS)


def _draw_stream(axes: Axes, study: StudyResults, stream: str) -> None:
    width = _window(study, stream)
    ends: dict[str, float] = {}
    for name in study.learners:
        each = 100 * plasticity.accuracy_while_learnt(study.run(stream, name))
        if not len(each):
            continue
        smooth = np.apply_along_axis(np.convolve, 1, each, np.full(width, 1 / width), mode="valid")
        tasks = np.arange(smooth.shape[1]) + (width + 1) / 2
        band = statistics.band(smooth, PERCENT)
        colour = figure_style.method_style(study, name)["color"]
        dashes = "--" if _continual.forgets(study, stream, name) else "-"
        axes.plot(tasks, band.mean, dashes, color=colour, zorder=3)
        figure_style.draw_spread(axes, tasks, smooth, band, colour)
        ends[name] = band.mean[-1]
    axes.set(xlabel="task", ylabel="accuracy while the task is learnt (%)")
    axes.set_xlim(1, study.streams[stream].sizes["task"])
    low, high = axes.get_ylim()
    axes.set_ylim(max(0.0, low), min(100.0, high))
    _name_lines(axes, study, stream, ends)


def _name_lines(axes: Axes, study: StudyResults, stream: str, ends: dict[str, float]) -> None:
    """Write the name and the slope of each learner beside its line, without overlaps."""
    low, high = axes.get_ylim()
    text = "slope, points per 100 tasks"
    axes.text(1.04, 1, text, transform=axes.transAxes, size=8, color=figure_style.MUTED)
    heights = _apart([(end - low) / (high - low) for end in ends.values()])
    for (name, end), height in zip(ends.items(), heights, strict=True):
        slope = statistics.interval(100 * study.score(stream, name, SLOPE))
        colour = figure_style.method_style(study, name)["color"]
        text = f"{study.label(name)}  {slope.mean:+.1f} [{slope.low:+.1f}, {slope.high:+.1f}]"
        axes.annotate(
            text,
            (1, (end - low) / (high - low)),
            (1.04, height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            color=colour,
            size=8.5,
            va="center",
            arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.6, "shrinkA": 1, "shrinkB": 1},
        )


def _apart(heights: list[float]) -> list[float]:
    """Return heights at least GAP apart, in the same order, each near its own."""
    order = np.argsort(heights, kind="stable")
    placed = np.array(heights)[order]
    for _ in range(200):
        for i in range(1, len(placed)):
            if (lack := GAP - (placed[i] - placed[i - 1])) > 0:
                placed[i - 1] -= lack / 2
                placed[i] += lack / 2
    result = np.empty(len(placed))
    result[order] = placed
    return result.tolist()

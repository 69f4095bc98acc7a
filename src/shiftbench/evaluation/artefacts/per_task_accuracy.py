"""Accuracy on each task after the last one, and its average.

Fig. 5 of eschenhagen2019vogn, with lines over tasks in place of groups of bars: the best methods
are in colour, and the average of each stands beside its name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts import _continual, _leaders
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(requires=("earlier-tests",), uses=("accuracy",))

SPREAD = 0.3
"""Range of the horizontal shifts of lines, which keep bars from hiding each other, in tasks."""
BOUND = (":", (0, (4, 2, 1, 2)))
DRAWN = ("dotted", "dashes and dots")
"""Styles of the lines of bounds, and their names."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw one block per stream. Raises UserError without accuracies."""
    _continual.check(study, "per-task-accuracy")
    height = 0.6 + max(3.2, 0.23 * len(study.methods))
    figure = figure_style.figure(height * len(study.streams), _foot(study), study.basis())
    for stream, block in figure_style.divide(figure, study.streams):
        _draw_stream(block, study, stream)
    return figure


def caption(study: StudyResults) -> str:
    """Say who is best, describe the figure, the number of runs and the reductions."""
    scratch = _continual.from_scratch(study)
    return f"{_leaders.messages(study)}{_foot(study)} {scratch}{study.basis()}"


def _foot(study: StudyResults) -> str:
    """Return the sentences on points and bars, which are drawn below the figure."""
    few = figure_style.has_few_seeds(study)
    spread = "small points: the seeds" if few else f"bars: {statistics.described('accuracy')}"
    return (
        "Accuracy on the test data of each task after the last task; mean over seeds; "
        f"{spread}{_continual.diamonds(study)}{_lines(study)}."
    )


def _draw_stream(block: SubFigure, study: StudyResults, stream: str) -> None:
    figure_style.set_message(block, _leaders.message(study, stream))
    ends = {name: _continual.at_end(study, stream, name) for name in study.methods}
    coloured = _leaders.order(study, stream)[: highlights.MOST]
    left, right = block.subplots(1, 2, width_ratios=[1, 1.7])
    _draw_averages(left, study, stream, ends, coloured)
    figure_style.set_title(left, "a", "average over tasks")
    _draw_tasks(right, study, ends, coloured, _leaders.bounds(study, stream))
    figure_style.set_title(right, "b", "by task")


def _draw_averages(
    axes: Axes, study: StudyResults, stream: str, ends: dict[str, np.ndarray], coloured: list[str]
) -> None:
    """Draw the average of each method in its row, the largest on top, and its number."""
    averages, paper = _leaders.averages(study, stream), _continual.published_averages(study, stream)
    order, shown = (
        highlights.leaders(averages, len(averages)),
        [*averages.values(), *paper.values()],
    )
    order += [name for name in ends if name not in order]
    for row, name in enumerate(order):
        style = highlights.point_style(study, name, coloured) | {"ls": "none"}
        of_seeds = 100 * ends[name].mean(axis=1)
        shown += [*_draw_points(axes, np.full(1, row), of_seeds[:, None], style, upright=False)]
        if name in paper:
            axes.plot(paper[name], row, **_continual.PAPER, ms=4.5, zorder=4)
        number = "" if np.isnan(averages[name]) else f"{averages[name]:.1f}"
        colour = highlights.readable(style["color"])
        beside = axes.get_yaxis_transform()
        axes.text(1.02, row, number, transform=beside, va="center", size=8, color=colour)
    highlights.label_rows(axes, study, order, coloured)
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.grid(axis="y", color="0.93", lw=0.6)
    axes.set_axisbelow(True)
    _continual.scale(axes, "x", shown, space=0.14, linear=_continual.is_linear(study))
    axes.set_xlabel(f"accuracy (%), {_continual.scale_note(study)}")


def _draw_tasks(
    axes: Axes,
    study: StudyResults,
    ends: dict[str, np.ndarray],
    coloured: list[str],
    bounds: list[str],
) -> None:
    """Draw the accuracy of each method over tasks; bounds are dotted, or dashes and dots."""
    tasks = 1 + np.arange(next(iter(ends.values())).shape[1])
    means = {name: 100 * _continual.mean_over_seeds(each) for name, each in ends.items()}
    shown, shifts = [*means.values()], dict.fromkeys(means, 0.0)
    for name, mean in means.items():
        style = highlights.style(study, name, coloured)
        if name in bounds:
            style |= {"color": figure_style.INK, "ls": BOUND[bounds.index(name) % len(BOUND)]}
        if name in coloured:
            shifts[name] = SPREAD * highlights.shift(name, coloured)
            points = _draw_points(
                axes, tasks + shifts[name], 100 * ends[name], style | {"ls": "none"}
            )
            shown += [points]
        line = style | {"marker": ""}
        axes.plot(tasks + shifts[name], mean, **line, lw=1.4, label=study.label(name))
    linear = _continual.is_linear(study)
    _continual.scale(axes, "y", np.concatenate(shown), space=0.06, linear=linear)
    last = {name: (tasks[-1] + shifts[name], means[name][-1]) for name in coloured}
    ends_of_lines = highlights.ends(study, last, coloured)
    for name in bounds:
        ends_of_lines[study.label(name)] = (tasks[-1], means[name][-1], figure_style.INK)
    highlights.name_ends(axes, ends_of_lines)
    axes.set(xlabel="task", ylabel="accuracy (%)", xticks=tasks)


def _draw_points(
    axes: Axes, at: np.ndarray, values: np.ndarray, style: dict[str, Any], upright: bool = True
) -> np.ndarray:
    """Draw means over seeds of percentages [seed, point], with intervals, or with few seeds.

    Returns the numbers that an axis has to cover.
    """
    band = statistics.band(values / 100, statistics.bounds(_continual.METRIC)).times(100)
    bars = figure_style.error_bars(band)
    few = len(values) < figure_style.FEWEST_OF_BAND
    spread: dict[str, Any] = {} if few else {"yerr" if upright else "xerr": np.nan_to_num(bars)}
    x, y = (at, band.mean) if upright else (band.mean, at)
    axes.errorbar(x, y, **spread, **style, ms=4, elinewidth=1)
    for one in values if few else ():
        x, y = (at, one) if upright else (one, at)
        axes.plot(x, y, ".", color=style["color"], ms=2.5, zorder=2)
    return np.ravel(values if few else [band.low, band.high])


def _lines(study: StudyResults) -> str:
    """Return the words on the lines of bounds; empty without one."""
    told: dict[str, None] = {}
    for stream in study.streams:
        for number, name in enumerate(_leaders.bounds(study, stream)):
            told[f"{DRAWN[number % len(BOUND)]}: {study.label(name)}"] = None
    return f"; not ranked, {', '.join(told)}" if told else ""

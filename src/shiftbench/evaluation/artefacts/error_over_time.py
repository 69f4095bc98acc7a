"""Error of each method over a long stream, and how often it finds a shift.

For each stream, from the top: the first metric of the study that scores single tasks, averaged
over all tasks so far, as li2021vbs averages errors; the same in windows of equal length; and the
share of tasks in a window in which the most probable history at the end places a shift. Mean over
seeds. Dotted: true shifts, if they are known and few. The best methods are in colour, dashed where
one lies on another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from shiftbench.config import components, metric_words
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts import _best, _detectors, _figure_parts, _series
from shiftbench.evaluation.scoring import units
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(refuses=("counts", "blocks", "earlier-tests"))

MOMENTS = {"before": "before it is learnt from", "after": "on its test data"}
"""Time at which a metric of single tasks is computed, in words, by its stage."""
WINDOWS = 80
"""Number of windows of a stream; in a shorter stream each task is a window."""
POINTS = 400
"""Number of points on a line; more would only make the file larger."""
GAP = 0.18
"""Distance of names at the ends of lines, in the unit of panels' heights."""
MOST_SHIFTS = 50
"""Largest number of true shifts drawn; more would hide the lines."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw one block per stream. Raises UserError without a metric of single tasks."""
    _metric(study)
    figure = figure_style.figure(5.4 * len(study.streams) + 0.3, _foot(study), study.basis())
    for stream, block in figure_style.divide(figure, study.streams):
        _draw_stream(block, study, stream)
    return figure


def caption(study: StudyResults) -> str:
    """Say who is best, describe the lines, the number of runs and the reductions."""
    return _figure_parts.message_and_foot(study, message, f"{_foot(study)} {study.basis()}")


def message(study: StudyResults, stream: str) -> str:
    """Say which methods have the best and the worst mean over all tasks of a stream."""
    metric, _ = _metric(study)
    means = {name: float(mean.mean()) for name, mean in _means(study, stream).items()}
    means = _best.ranked(study, means)
    start = f"{stream}: over {study.streams[stream].sizes['task']:,} tasks"
    order = _order(metric, means)
    name, sign = metric_words.words(metric), " %" if units.factor(metric) == 100 else ""
    if not order:
        return f"{start}, no method has a {name}"
    best, worst = order[0], order[-1]
    text = (
        f"{start}, {study.label(best)} has the {_extreme(metric)} {name} of {len(order)} methods,"
        f" {means[best]:.3g}{sign}"
    )
    if best == worst:
        return text
    scores = {name: study.by_task(stream, name, metric).mean(axis=1) for name in means}
    text += _best.others(study, scores, [best], lower=_lower_is_better(metric))
    return f"{text}; the last is {study.label(worst)}, {means[worst]:.3g}{sign}"


def _extreme(metric: str) -> str:
    return "smallest" if _lower_is_better(metric) else "largest"


def _lower_is_better(metric: str) -> bool:
    return components.metric(metric).better == "lower"


def _order(metric: str, means: Mapping[str, float]) -> list[str]:
    """Return the names by their means, best first, without those that failed."""
    sign = -1 if _lower_is_better(metric) else 1
    return highlights.leaders({name: sign * mean for name, mean in means.items()}, len(means))


def _foot(study: StudyResults) -> str:
    """Return the sentences on the lines, which are drawn below the figure."""
    metric, moment = _metric(study)
    tasks = [store.sizes["task"] for store in study.streams.values()]
    lengths = ", ".join(dict.fromkeys(str(_width(size)) for size in tasks))
    few = any(0 < _true_shifts(study, stream).size <= MOST_SHIFTS for stream in study.streams)
    dotted = "; dotted: true shifts of the first realisation" if few else ""
    finished = [
        sum(np.isfinite(mean).all() for mean in _means(study, stream).values())
        for stream in study.streams
    ]
    others = "; grey: the others" if max(finished) > highlights.MOST else ""
    return (
        f"{metric_words.opening(metric)} of each task {moment}, mean over seeds; dashed:"
        f" lines that overlap another or share its colour{others}. b: windows of"
        f" {_tasks(lengths)}. c: shifts in the most probable history at the end of the"
        f" stream{dotted}."
    )


def windows(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the middles of windows [window], in tasks from 1, and the mean in each [..., window].

    values: [..., task]. The last window may be shorter.
    """
    tasks = values.shape[-1]
    starts = np.arange(0, tasks, _width(tasks))
    sizes = np.diff(np.append(starts, tasks))
    return starts + (sizes + 1) / 2, np.add.reduceat(values, starts, axis=-1) / sizes


def _width(tasks: int) -> int:
    return -(-tasks // WINDOWS)


def _tasks(number: str) -> str:
    return f"{number} task{'' if number == '1' else 's'}"


class _TimeAxis(NamedTuple):
    """Time axis. labels: time of each task [task] in a file, or None for numbers of tasks."""

    labels: np.ndarray | None
    label: str

    @classmethod
    def of(cls, store: xr.Dataset) -> _TimeAxis:
        column = "time" in store.coords and store["time"].attrs.get("column")
        return cls(_series.task_times(store), column) if column else cls(None, "task")

    def __call__(self, tasks: np.ndarray) -> np.ndarray:
        """Return the positions of tasks, numbered from 1; between two tasks, of the earlier one."""
        return tasks if self.labels is None else self.labels[tasks.astype(int) - 1]


def _metric(study: StudyResults) -> tuple[str, str]:
    """Return the metric shown, and the time at which it is computed, in words."""
    for name in study.metrics:
        if moment := MOMENTS.get(components.metric(name).stage):
            return name, moment
    raise study.lacking("error-over-time", "a metric of single tasks, such as absolute_error")


def _means(study: StudyResults, stream: str) -> dict[str, np.ndarray]:
    """Return the mean over seeds [task] of each method, fractions in percent.

    NaN for a method whose runs all failed.
    """
    metric, _ = _metric(study)
    values = {
        name: units.factor(metric) * study.by_task(stream, name, metric) for name in study.methods
    }
    complete = {name: each[~np.isnan(each).any(axis=1)] for name, each in values.items()}
    return {
        name: each.mean(axis=0) if len(each) else np.full(each.shape[1], np.nan)
        for name, each in complete.items()
    }


class _Panel(NamedTuple):
    """A panel of lines over time. height: relative to the others; least: must be on the axis."""

    title: str
    label: str
    height: float
    x: np.ndarray
    lines: dict[str, np.ndarray]
    least: float = np.nan


def _panels(study: StudyResults, stream: str, position: _TimeAxis) -> list[_Panel]:
    """Return the panels of a stream; the last one only where a method decides about shifts."""
    means, tasks = _means(study, stream), study.streams[stream].sizes["task"]
    metric, width = _metric(study)[0], _width(tasks)
    declared = units.unit(metric, {stream: study.streams[stream]})
    unit = "%" if units.factor(metric) == 100 else declared
    name = metric_words.words(metric)
    label = name if unit in name.split() else f"{name}\n({unit})"
    # Without the first few tasks, whose noise would set the scale.
    t = np.unique(np.linspace(min(tasks, width), tasks, POINTS).astype(int))
    so_far = {name: mean.cumsum()[t - 1] / t for name, mean in means.items()}
    middles = position(windows(np.zeros(tasks))[0])
    in_windows = {name: windows(mean)[1] for name, mean in means.items()}
    found = [
        _Panel("mean over all tasks so far", label, 1.5, position(t), so_far),
        _Panel(f"mean over windows of {_tasks(str(width))}", label, 1.5, middles, in_windows),
    ]
    if shifts := _detectors.of_stream(study, stream):
        rates = {name: 100 * windows(flags.mean(axis=0))[1] for name, flags in shifts.items()}
        title, label = "tasks with an inferred shift", "share of tasks\n(%)"
        found.append(_Panel(title, label, 1.0, middles, rates, least=0.0))
    return found


def _draw_stream(block: SubFigure, study: StudyResults, stream: str) -> None:
    position = _TimeAxis.of(study.streams[stream])
    contents = _panels(study, stream, position)
    heights = [content.height for content in contents]
    panels = block.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    coloured = _coloured(study, stream, contents[0].lines)
    for letter, panel, content in zip("abc", panels, contents, strict=False):
        left = _draw_lines(panel, study, content, coloured)
        figure_style.set_title(panel, letter, f"{content.title}; {left}".removesuffix("; "))
        panel.set_ylabel(content.label)
    last = study.streams[stream].sizes["task"]
    panels[-1].set(xlabel=position.label, xlim=tuple(position(np.array([1, last]))))
    if position.labels is None:
        panels[-1].xaxis.set_major_formatter("{x:,.0f}")
    _draw_truth(panels, position, study, stream)
    for number in (0, 2)[: len(contents) - 1]:
        content = contents[number]
        last_points = {name: (content.x[-1], line[-1]) for name, line in content.lines.items()}
        ends = highlights.ends(study, last_points, coloured)
        highlights.name_ends(panels[number], ends, GAP / content.height)
    figure_style.set_message(block, message(study, stream))


def _coloured(study: StudyResults, stream: str, lines: dict[str, np.ndarray]) -> list[str]:
    """Return the best methods, with the last one, which the title names, if it fits the axis.

    lines: of the first panel.
    """
    means = {name: float(mean.mean()) for name, mean in _means(study, stream).items()}
    metric = _metric(study)[0]
    best, ranked = _order(metric, means), _order(metric, _best.ranked(study, means))
    coloured = best[: highlights.MOST]
    if not ranked or ranked[-1] in coloured:
        return coloured
    shown = np.concatenate([lines[name] for name in coloured])
    floor, ceiling = highlights.reach(float(shown.min()), float(shown.max()))
    fits = floor <= lines[ranked[-1]].min() and lines[ranked[-1]].max() <= ceiling
    return [*coloured[: highlights.MOST - 1], ranked[-1]] if fits else coloured


def _draw_lines(panel: Axes, study: StudyResults, content: _Panel, coloured: list[str]) -> str:
    """Draw lines, dashed where one lies on another; return words on lines that leave the axes."""
    shown = {name: line for name, line in content.lines.items() if name in coloured}
    dashes = highlights.dashes(shown)
    for number, (method, line) in enumerate(content.lines.items()):
        style = highlights.style(study, method, coloured)
        if dashes.get(method, "-") != "-":
            style |= {"ls": dashes[method]}
        markers = figure_style.marker_positions(number, len(content.lines), len(content.x))
        inside = method not in shown
        panel.plot(content.x, line, **style, lw=1.4, ms=4, markevery=markers, clip_on=inside)
    grey = {study.label(name): line for name, line in content.lines.items() if name not in shown}
    if not shown:
        return ""
    return highlights.beyond(
        highlights.limit(panel, [*shown.values(), np.array([content.least])], grey)
    )


def _draw_truth(panels: np.ndarray, position: _TimeAxis, study: StudyResults, stream: str) -> None:
    """Draw the true shifts, unless they would hide the lines."""
    tasks = _true_shifts(study, stream)
    for x in position(tasks + 1) if len(tasks) <= MOST_SHIFTS else ():
        for panel in panels:
            panel.axvline(x, color=figure_style.MUTED, lw=0.7, ls=":", zorder=0)


def _true_shifts(study: StudyResults, stream: str) -> np.ndarray:
    """Return the tasks of the first realisation that begin with a shift."""
    return np.flatnonzero(study.streams[stream]["shift"].values[0])

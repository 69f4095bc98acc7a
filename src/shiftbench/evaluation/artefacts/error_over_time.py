"""Error of each learner over a long stream, and how often it finds a shift.

For each stream, from the top: the first metric of the study that scores single tasks, averaged
over all tasks so far, as li2021vbs averages errors; the same in windows of equal length; and the
share of tasks in a window in which the most probable history at the end places a shift. Mean over
seeds. Dotted: true shifts, if they are known and few.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from shiftbench.config import components
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _detectors, _series
from shiftbench.evaluation.scoring import units
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(refuses=("counts", "blocks", "earlier-tests"))

MOMENTS = {"before": "before it is learnt from", "after": "on its test data"}
"""Time at which a metric of single tasks is computed, in words, by its stage."""
WINDOWS = 80
"""Number of windows of a stream; in a shorter stream each task is a window."""
POINTS = 400
"""Number of points on a line; more would only make the file larger."""
MOST_SHIFTS = 50
"""Largest number of true shifts drawn; more would hide the lines."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw one block per stream. Raises UserError without a metric of single tasks."""
    metric, _ = _metric(study)
    figure = figure_style.figure(5.4 * len(study.streams) + 0.3, caption(study), study.budget())
    for stream, block in figure_style.divide(figure, study.streams):
        _draw_stream(block, study, stream, metric)
    return figure


def caption(study: StudyResults) -> str:
    """Describe the lines, the number of runs and the reductions."""
    metric, moment = _metric(study)
    tasks = [store.sizes["task"] for store in study.streams.values()]
    lengths = ", ".join(dict.fromkeys(str(_width(size)) for size in tasks))
    few = any(0 < _true_shifts(study, stream).size <= MOST_SHIFTS for stream in study.streams)
    dotted = "; dotted: true shifts of the first realisation" if few else ""
    return (
        f"{metric} of each task {moment}, mean over seeds. a: mean over all"
        f" tasks so far; b: mean over windows of {lengths} task(s); c: share of the tasks of a"
        f" window in which the most probable history, read at the end, places a shift{dotted}."
        f" {study.budget()}"
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


def _draw_stream(block: SubFigure, study: StudyResults, stream: str, metric: str) -> None:
    shifts = _detectors.of_stream(study, stream)
    heights = [1.5, 1.5, 1.0][: 3 if shifts else 2]
    panels = block.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    position = _TimeAxis.of(study.streams[stream])
    for number, learner in enumerate(study.learners):
        style = figure_style.method_style(study, learner)
        values = study.by_task(stream, learner, metric)
        complete = values[~np.isnan(values).any(axis=1)]
        mean = complete.mean(axis=0) if len(complete) else np.full(values.shape[1], np.nan)
        line = number, len(study.learners)
        _draw_so_far(panels[0], position, mean, line, label=study.label(learner), **style)
        middle, of_window = windows(mean)
        panels[1].plot(position(middle), of_window, color=style["color"], lw=1)
        if learner in shifts:
            middle, rate = windows(shifts[learner].mean(axis=0))
            panels[2].plot(position(middle), rate, **style, ms=2.5, lw=0.8)
    unit = units.unit(metric, {stream: study.streams[stream]})
    panels[0].set_ylabel(f"{metric}\nso far ({unit})")
    panels[1].set_ylabel(f"{metric}\nin windows ({unit})")
    if shifts:
        panels[2].set(ylabel="share of tasks\nwith a shift", ylim=(0, None))
    last = study.streams[stream].sizes["task"]
    panels[-1].set(xlabel=position.label, xlim=tuple(position(np.array([1, last]))))
    _draw_truth(panels, position, study, stream)
    for letter, panel in zip("abc", panels, strict=False):
        figure_style.set_title(panel, letter, stream if letter == "a" else "")
    handles, labels = panels[0].get_legend_handles_labels()
    block.legend(handles, labels, loc="outside upper right", ncols=min(len(labels), 7))


def _draw_so_far(
    panel: Axes, position: _TimeAxis, mean: np.ndarray, line: tuple[int, int], **style: Any
) -> None:
    """Draw the mean over the tasks so far, without the first few, whose noise would set the scale.

    line: its number, from 0, and the number of lines.
    """
    so_far = mean.cumsum() / np.arange(1, len(mean) + 1)
    first = min(len(mean), max(1, _width(len(mean))))
    t = np.unique(np.linspace(first, len(mean), POINTS).astype(int))
    markers = figure_style.marker_positions(*line, len(t))
    panel.plot(position(t), so_far[t - 1], **style, lw=1.4, ms=4, markevery=markers)


def _draw_truth(panels: np.ndarray, position: _TimeAxis, study: StudyResults, stream: str) -> None:
    """Draw the true shifts, unless they would hide the lines."""
    tasks = _true_shifts(study, stream)
    for x in position(tasks + 1) if len(tasks) <= MOST_SHIFTS else ():
        for panel in panels:
            panel.axvline(x, color=figure_style.MUTED, lw=0.7, ls=":", zorder=0)


def _true_shifts(study: StudyResults, stream: str) -> np.ndarray:
    """Return the tasks of the first realisation that begin with a shift."""
    return np.flatnonzero(study.streams[stream]["shift"].values[0])

"""How good each learner is over a long stream, and how often it finds that something has changed.

For each stream, from the top: the first metric of the study that is taken task by task, averaged
over all tasks so far, as li2021vbs averages errors; the same in windows of equal length; and the
share of the tasks of a window in which the most probable history at the end places a shift. Mean
over seeds. Dotted: true shifts, where they are known and few.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from shiftbench.config import components
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _series
from shiftbench.evaluation.scoring import segmentation, units
from shiftbench.evaluation.scoring.results import StudyResults

KIND = "figure"
REFUSES = ("counts", "blocks", "earlier-tests")

MOMENTS = {"before": "before it is learnt from", "after": "on its test data"}
"""When a metric of single tasks is taken, by its stage."""
WINDOWS = 80
"""Windows of a stream; of a shorter one each task is one."""
POINTS = 400
"""More points on a line would only make the file larger."""
MOST_SHIFTS = 50
"""More true shifts than these would hide the lines."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """One block a stream; UserError where no metric is of single tasks."""
    metric, _ = _metric(study)
    drawn = figure_style.figure(5.4 * len(study.streams) + 0.3, caption(study), study.budget())
    blocks = drawn.subfigures(len(study.streams), 1, squeeze=False)[:, 0]
    for block, stream in zip(blocks, study.streams, strict=True):
        _draw_stream(block, study, stream, metric)
    return drawn


def caption(study: StudyResults) -> str:
    """What the lines are, on how many runs, and what is cut."""
    metric, moment = _metric(study)
    tasks = [store.sizes["task"] for store in study.streams.values()]
    lengths = ", ".join(dict.fromkeys(str(_width(size)) for size in tasks))
    few = any(0 < _true(study, stream).size <= MOST_SHIFTS for stream in study.streams)
    dotted = "; dotted: true shifts of the first realisation" if few else ""
    return (
        f"{metric} of each task {moment}, mean over seeds. a: mean over all"
        f" tasks so far; b: mean over windows of {lengths} task(s); c: share of the tasks of a"
        f" window in which the most probable history, read at the end, places a shift{dotted}."
        f" {study.budget()}"
    )


def windows(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Middles of the windows [window], in tasks from 1, and means of values [..., task] in each.

    The last window may be shorter.
    """
    tasks = values.shape[-1]
    starts = np.arange(0, tasks, _width(tasks))
    sizes = np.diff(np.append(starts, tasks))
    return starts + (sizes + 1) / 2, np.add.reduceat(values, starts, axis=-1) / sizes


def _width(tasks: int) -> int:
    return -(-tasks // WINDOWS)


class _Axis(NamedTuple):
    """The axis of time: labels of the tasks [task] of a file with time, or None for numbers."""

    labels: np.ndarray | None
    label: str

    @classmethod
    def of(cls, store: xr.Dataset) -> _Axis:
        own = "time" in store.coords and store["time"].attrs.get("column")
        return cls(_series.of_tasks(store), own) if own else cls(None, "task")

    def __call__(self, tasks: np.ndarray) -> np.ndarray:
        """Where tasks stand that are numbered from 1; of the middle of two, the earlier one."""
        return tasks if self.labels is None else self.labels[tasks.astype(int) - 1]


def _metric(study: StudyResults) -> tuple[str, str]:
    """The metric that is shown, and when it is taken."""
    for name in study.metrics:
        if moment := MOMENTS.get(components.constant("metrics", name, "STAGE")):
            return name, moment
    raise study.lacking("error-over-time", "a metric of single tasks, such as absolute_error")


def _draw_stream(block: SubFigure, study: StudyResults, stream: str, metric: str) -> None:
    found = {name: _shifts(study, stream, name) for name in study.learners}
    deciding = {name: flags for name, flags in found.items() if flags is not None}
    heights = [1.5, 1.5, 1.0][: 3 if deciding else 2]
    panels = block.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    at = _Axis.of(study.streams[stream])
    for learner in study.learners:
        look = figure_style.look(study, learner)
        values = study.by_task(stream, learner, metric)
        well = values[~np.isnan(values).any(axis=1)]
        mean = well.mean(axis=0) if len(well) else np.full(values.shape[1], np.nan)
        place = study.learners.index(learner), len(study.learners)
        _draw_so_far(panels[0], at, mean, place, label=study.label(learner), **look)
        middle, of_window = windows(mean)
        panels[1].plot(at(middle), of_window, color=look["color"], lw=1)
        if learner in deciding:
            middle, rate = windows(deciding[learner].mean(axis=0))
            style = {"color": look["color"], "marker": look["marker"]}
            panels[2].plot(at(middle), rate, **style, ms=2.5, lw=0.8)
    unit = units.unit(metric, {stream: study.streams[stream]})
    panels[0].set_ylabel(f"{metric}\nso far ({unit})")
    panels[1].set_ylabel(f"{metric}\nin windows ({unit})")
    if deciding:
        panels[2].set(ylabel="share of tasks\nwith a shift", ylim=(0, None))
    last = study.streams[stream].sizes["task"]
    panels[-1].set(xlabel=at.label, xlim=tuple(at(np.array([1, last]))))
    _draw_truth(panels, at, study, stream)
    for letter, panel in zip("abc", panels, strict=False):
        figure_style.title(panel, letter, stream if letter == "a" else "")
    handles, labels = panels[0].get_legend_handles_labels()
    block.legend(handles, labels, loc="outside upper right", ncols=min(len(labels), 7))


def _draw_so_far(
    panel: Axes, at: _Axis, mean: np.ndarray, place: tuple[int, int], **look: Any
) -> None:
    """The mean over the tasks so far; the first few would set the scale by their noise.

    place: of the learner, among how many.
    """
    so_far = mean.cumsum() / np.arange(1, len(mean) + 1)
    first = min(len(mean), max(1, _width(len(mean))))
    t = np.unique(np.linspace(first, len(mean), POINTS).astype(int))
    panel.plot(
        at(t), so_far[t - 1], **look, lw=1.4, ms=4, markevery=figure_style.apart(*place, len(t))
    )


def _draw_truth(panels: np.ndarray, at: _Axis, study: StudyResults, stream: str) -> None:
    """The true shifts, where they are few enough to be seen."""
    true = _true(study, stream)
    for task in true if len(true) <= MOST_SHIFTS else ():
        for panel in panels:
            panel.axvline(
                at(np.array([task + 1]))[0], color=figure_style.MUTED, lw=0.7, ls=":", zorder=0
            )


def _true(study: StudyResults, stream: str) -> np.ndarray:
    """The tasks of the first realisation that a shift comes before."""
    return np.flatnonzero(study.streams[stream]["shift"].values[0])


def _shifts(study: StudyResults, stream: str, learner: str) -> np.ndarray | None:
    """Shifts of the most probable history [seed, task]; None of a learner that does not decide."""
    run = study.run(stream, learner)
    return segmentation.inferred(run) if run.sizes["seed"] else None

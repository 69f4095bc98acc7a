"""Series with the changes that each learner finds, and those that people marked.

Up to three series are drawn one below the other, each above a line of changes for each learner;
more are small panels, with the changes as ticks. The most probable segmentation of each learner, in
hindsight; the first realisation and the first seed.
"""

from __future__ import annotations

import math

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _series
from shiftbench.evaluation.scoring import segmentation
from shiftbench.evaluation.scoring.results import StudyResults

KIND = "figure"
REQUIRES = ("series",)
REFUSES = ("blocks",)
FROM = ("changes",)

FEW = 3
"""Series that have room for axes and labels."""
TALL, LINE = 2.4, 0.3
"""Heights of a series and of a learner's line below it, in inches."""
COLUMNS = 4
HEIGHT = 1.15
"""Height of a small panel in inches."""
MARKS = 0.09
"""Share of a panel's height for the changepoints of a learner."""

TICKS = 5
FAINT = 0.3
"""Of the mark of one annotator; marks of several add up."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Panels in the study's order; UserError where no learner decides about changes."""
    shown = _learners(study)
    return _draw_few(study, shown) if len(study.streams) <= FEW else _draw_many(study, shown)


def caption(study: StudyResults) -> str:
    """What is drawn, on how many runs, and what is cut."""
    known = any(_known(store).any() for store in study.streams.values())
    grey = "Grey lines: changes that people marked or that are known, darker where more agree. "
    if len(study.streams) > FEW:
        counts, where = "", "Ticks at the top"
    else:
        shown = _learners(study)
        counts = "".join(f"{_counts(study, one, shown)}. " for one in study.streams)
        where = "Marks below"
    return (
        f"{counts}{grey * known}{where}: changes of the most probable segmentation, read backwards"
        f" from the end. First realisation, first seed. {study.budget()}"
    )


def _draw_few(study: StudyResults, shown: list[str]) -> Figure:
    """A block a series: its values, and below them a line of changes for each learner."""
    heights = [TALL, LINE * (len(shown) + 0.5)]
    height = (sum(heights) + 0.6) * len(study.streams)
    drawn = figure_style.figure(height, caption(study), study.budget())
    blocks = drawn.subfigures(len(study.streams), 1, squeeze=False)[:, 0]
    for block, stream in zip(blocks, study.streams, strict=True):
        top, below = block.subplots(2, 1, sharex=True, height_ratios=heights)
        _draw_values(top, study, stream, shown)
        _draw_lines(below, study, stream, shown)
    return drawn


def _draw_many(study: StudyResults, shown: list[str]) -> Figure:
    """A small panel a series."""
    rows = math.ceil(len(study.streams) / COLUMNS)
    drawn = figure_style.figure(HEIGHT * rows + 0.5, caption(study), study.budget())
    panels = drawn.subplots(rows, COLUMNS, squeeze=False).ravel()
    for panel, stream in zip(panels, study.streams, strict=False):
        _draw(panel, study, stream, shown)
    for panel in panels[len(study.streams) :]:
        panel.set_axis_off()
    figure_style.legend_above(drawn, panels[0])
    return drawn


def _draw_values(panel: Axes, study: StudyResults, stream: str, shown: list[str]) -> None:
    """The values with what is known about changes, under the numbers of changes that are found."""
    store = study.streams[stream]
    value, label = _series.drawn(store)
    colours = ["black"] if value.shape[1] == 1 else figure_style.PALETTE
    for number, name in enumerate(store["series"].values.tolist()):
        colour = colours[number % len(colours)]
        panel.plot(_series.axis(store), value[:, number], color=colour, lw=0.9, label=name)
    if 1 < value.shape[1] <= len(figure_style.PALETTE):
        panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    _draw_known(panel, store)
    panel.set_ylabel(label)
    panel.margins(x=0.01)
    panel.set_title(_counts(study, stream, shown))


def _counts(study: StudyResults, stream: str, shown: list[str]) -> str:
    """Say how many changes each learner finds."""
    numbers = [len(_found(study, stream, name)) for name in shown]
    words = [
        f"{study.label(name)} finds {number} change{'s' * (number != 1)}"
        for name, number in zip(shown, numbers, strict=True)
    ]
    return f"{_series.name(study, stream)}: {', '.join(words)}"


def _draw_lines(panel: Axes, study: StudyResults, stream: str, shown: list[str]) -> None:
    """A line a learner, with a mark at each of its changes."""
    store = study.streams[stream]
    times = _series.of_tasks(store)
    for place, name in enumerate(shown):
        colour = figure_style.look(study, name)["color"]
        panel.axhline(place, color=colour, lw=0.6, alpha=0.4)
        at = times[_found(study, stream, name)]
        panel.plot(at, np.full(len(at), place), "|", ms=15, mew=2.5, color=colour)
    panel.set_yticks(range(len(shown)), [f"changes by {study.label(name)}" for name in shown])
    panel.set(ylim=(len(shown) - 0.4, -0.6), xlabel=_series.label(store))
    panel.tick_params(axis="y", length=0, labelsize=9)
    panel.spines["left"].set_visible(False)
    _draw_known(panel, store)
    if times.dtype.kind == "M":
        locator = AutoDateLocator()
        panel.xaxis.set_major_locator(locator)
        panel.xaxis.set_major_formatter(ConciseDateFormatter(locator, show_offset=False))


def _learners(study: StudyResults) -> list[str]:
    """The learners that decide about changes, with a run on every stream."""
    runs = {name: [study.run(one, name) for one in study.streams] for name in study.learners}
    shown = [name for name, of_streams in runs.items() if all(map(_decides, of_streams))]
    if not shown:
        raise study.lacking("changepoints", "a learner that finds changes and did not fail")
    return shown


def _decides(run: xr.Dataset) -> bool:
    return bool(run.sizes["seed"]) and segmentation.inferred(run) is not None


def _draw(panel: Axes, study: StudyResults, stream: str, shown: list[str]) -> None:
    store = study.streams[stream]
    value = store["value"].values[0]
    for number in range(value.shape[1]):
        panel.plot(_series.axis(store), value[:, number], color="black", lw=0.7, alpha=0.8)
    _draw_known(panel, store)
    span = np.ptp(value) or 1.0
    room = MARKS * (len(shown) + 1)
    panel.set_ylim(value.min() - 0.05 * span, value.max() + span * room / (1 - room))
    for place, name in enumerate(shown):
        _draw_found(panel, study, stream, name, 1 - MARKS * (place + 0.7))
    panel.set_title(_series.name(study, stream), size=9, pad=2)
    panel.set_yticks([])
    panel.tick_params(labelsize=7, pad=1, length=2)
    _few_ticks(panel, _series.of_tasks(store))


def _draw_known(panel: Axes, store: xr.Dataset) -> None:
    """A line at each change that somebody marked or that is known."""
    times = _series.of_tasks(store)
    for marks in _known(store):
        for task in np.flatnonzero(marks):
            panel.axvline(times[task], color=figure_style.MUTED, lw=1.6, alpha=FAINT, zorder=0)


def _found(study: StudyResults, stream: str, name: str) -> np.ndarray:
    """The tasks with which a segment starts."""
    found = segmentation.changepoints(study.run(stream, name))
    assert found is not None
    return found[0]


def _draw_found(panel: Axes, study: StudyResults, stream: str, name: str, height: float) -> None:
    times = _series.of_tasks(study.streams[stream])[_found(study, stream, name)]
    panel.plot(
        times, np.full(len(times), height), "|", ms=5, mew=1.4, label=study.label(name),
        color=figure_style.look(study, name)["color"], transform=panel.get_xaxis_transform(),
    )  # fmt: skip


def _few_ticks(panel: Axes, times: np.ndarray) -> None:
    """As many labels as a small panel has room for."""
    if times.dtype.kind == "M":
        locator = AutoDateLocator(minticks=3, maxticks=TICKS)
        panel.xaxis.set_major_locator(locator)
        panel.xaxis.set_major_formatter(ConciseDateFormatter(locator, show_offset=False))
    else:
        panel.xaxis.set_major_locator(MaxNLocator(TICKS - 1, integer=True))


def _known(store: xr.Dataset) -> np.ndarray:
    """Changes that people marked, [annotator, task], or those that are known, [1, task]."""
    return store["annotation"].values if "annotation" in store else store["shift"].values[:1]

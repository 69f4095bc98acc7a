"""Series with the changes that each method finds and the changes that people marked.

Up to three series are drawn one below the other, each above a line of changes for each method;
more are drawn in small panels, with the changes as ticks. Changes are those of a method's most
probable segmentation in hindsight, for the first realisation and the first seed.
"""

from __future__ import annotations

import math

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from shiftbench.config.compatibility_words import listed
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _change_lines, _series
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(requires=("series",), refuses=("blocks",), from_learner=("changes",))

FEW = 3
"""Largest number of series with axes and labels."""
TALL, LINE = 2.4, 0.3
"""Heights of a series and of a method's line below it, in inches."""
COLUMNS = 4
HEIGHT = 1.15
"""Height of a small panel in inches."""
MARKS = 0.09
"""Share of a panel's height for the changepoints of a method."""

TICKS = 5


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw the series in the study's order. Raises UserError if no method finds changes."""
    methods = _change_lines.deciding(study, "changepoints")
    return _draw_few(study, methods) if len(study.streams) <= FEW else _draw_many(study, methods)


def caption(study: StudyResults) -> str:
    """Count the changes, describe the lines, the number of runs and the reductions."""
    methods = _change_lines.deciding(study, "changepoints")
    if len(study.streams) > FEW:
        return f"{message(study, methods)}. {_foot(study, 'Ticks at the top')}"
    counts = (_change_lines.counts(study, stream, methods) for stream in study.streams)
    return f"{'. '.join(counts)}. {_foot(study, 'Marks below')}"


def message(study: StudyResults, methods: list[str]) -> str:
    """Say how many changes each method infers on all series together."""
    inferred = {
        name: sum(len(_change_lines.found(study, stream, name)[0]) for stream in study.streams)
        for name in methods
    }
    order = sorted(inferred, key=lambda name: -inferred[name])
    said = listed(f"{inferred[name]:,} with {study.label(name)}" for name in order)
    return f"Changes inferred in {len(study.streams)} series: {said}"


def _foot(study: StudyResults, where: str) -> str:
    """Return what is written below the figure. where: the changes of methods are drawn."""
    known = any(_change_lines.known(store).any() for store in study.streams.values())
    grey = "Grey lines: changes that people marked or that are known, darker where more agree. "
    return (
        f"{grey * known}{where}: changes in the most probable segmentation, found by"
        f" backtracking from the end. First realisation, first seed.{_hidden_note(study)}"
        f" {study.basis()}"
    )


def _hidden_note(study: StudyResults) -> str:
    """Return a sentence about series without values, if there are any."""
    hidden = [
        _series.short_name(study, stream)
        for stream, store in study.streams.items()
        if not _series.may_be_drawn(store)
    ]
    return (
        f" Without the values of {', '.join(hidden)}, which may not be passed on." if hidden else ""
    )


def _draw_few(study: StudyResults, methods: list[str]) -> Figure:
    """Draw a block per series: its values above a line of changes for each method."""
    heights = [TALL, LINE * (len(methods) + 0.5)]
    height = (sum(heights) + 0.6) * len(study.streams)
    figure = figure_style.figure(height, _foot(study, "Marks below"), study.basis())
    for stream, block in figure_style.divide(figure, study.streams):
        top, below = block.subplots(2, 1, sharex=True, height_ratios=heights)
        _draw_values(top, study, stream, methods)
        _change_lines.draw(below, study, stream, methods)
    return figure


def _draw_many(study: StudyResults, methods: list[str]) -> Figure:
    """Draw a small panel per series."""
    rows = math.ceil(len(study.streams) / COLUMNS)
    height = HEIGHT * rows + 0.5 + figure_style.MESSAGE
    figure = figure_style.figure(height, _foot(study, "Ticks at the top"), study.basis())
    below = figure_style.below_message(figure, message(study, methods))
    panels = below.subplots(rows, COLUMNS, squeeze=False).ravel()
    for panel, stream in zip(panels, study.streams, strict=False):
        _draw_small(panel, study, stream, methods)
    for panel in panels[len(study.streams) :]:
        panel.set_axis_off()
    figure_style.shared_legend(below, panels[0])
    return figure


def _draw_values(panel: Axes, study: StudyResults, stream: str, methods: list[str]) -> None:
    """Draw the values and the known changes, below the numbers of changes found."""
    store = study.streams[stream]
    value, label = _series.plotted(store)
    colours = ["black"] if value.shape[1] == 1 else figure_style.PALETTE
    names = store["series"].values.tolist() if _series.may_be_drawn(store) else []
    for number, name in enumerate(names):
        colour = colours[number % len(colours)]
        panel.plot(_series.axis(store), value[:, number], color=colour, lw=0.9, label=name)
    if 1 < len(names) <= len(figure_style.PALETTE):
        panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    _change_lines.draw_known(panel, store)
    panel.set_ylabel(label)
    panel.margins(x=0.01)
    _show_whole_time(panel, store)
    panel.set_title(_change_lines.counts(study, stream, methods))


def _draw_small(panel: Axes, study: StudyResults, stream: str, methods: list[str]) -> None:
    store = study.streams[stream]
    value = store["value"].values[0]
    for number in range(value.shape[1] if _series.may_be_drawn(store) else 0):
        panel.plot(_series.axis(store), value[:, number], color="black", lw=0.7, alpha=0.8)
    _change_lines.draw_known(panel, store)
    span = np.ptp(value) or 1.0
    room = MARKS * (len(methods) + 1)
    panel.set_ylim(value.min() - 0.05 * span, value.max() + span * room / (1 - room))
    for line, name in enumerate(methods):
        _draw_ticks(panel, study, stream, name, 1 - MARKS * (line + 0.7))
    panel.set_title(_series.short_name(study, stream), size=9, pad=2)
    _show_whole_time(panel, store)
    panel.set_yticks([])
    panel.tick_params(labelsize=7, pad=1, length=2)
    _set_few_labels(panel, _series.task_times(store))


def _show_whole_time(panel: Axes, store: xr.Dataset) -> None:
    """Let the axis of a series without values be as long as the series."""
    if not _series.may_be_drawn(store):
        panel.set_xlim(*_series.axis(store)[[0, -1]])


def _draw_ticks(panel: Axes, study: StudyResults, stream: str, name: str, height: float) -> None:
    times = _series.task_times(study.streams[stream])[_change_lines.found(study, stream, name)[0]]
    panel.plot(
        times, np.full(len(times), height), "|", ms=5, mew=1.4, label=study.label(name),
        color=figure_style.method_style(study, name)["color"],
        transform=panel.get_xaxis_transform(),
    )  # fmt: skip


def _set_few_labels(panel: Axes, times: np.ndarray) -> None:
    """Label the time axis with as many labels as fit a small panel."""
    if times.dtype.kind == "M":
        _change_lines.use_dates(panel, AutoDateLocator(minticks=3, maxticks=TICKS))
    else:
        panel.xaxis.set_major_locator(MaxNLocator(TICKS - 1, integer=True))

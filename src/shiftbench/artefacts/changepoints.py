"""Many series at a glance: what people marked in each, and where each learner has changepoints.

A panel a series. The most probable segmentation of each learner, in hindsight; the first
realisation and the first seed.
"""

from __future__ import annotations

import math

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from shiftbench.artefacts import _series, _style
from shiftbench.scoring import segmentation
from shiftbench.scoring.results import StudyResults

KIND = "figure"
REQUIRES = ("series",)
REFUSES = ("blocks",)
FROM = ("changes",)

COLUMNS = 4
HEIGHT = 1.15
"""Of a panel, in inches."""
MARKS = 0.09
"""Share of a panel's height for the changepoints of a learner."""

TICKS = 5
FAINT = 0.3
"""Of the mark of one annotator; marks of several add up."""


@_style.styled
def draw(study: StudyResults) -> Figure:
    """Panels in the study's order; UserError where no learner decides about changes."""
    shown = _learners(study)
    columns = min(COLUMNS, len(study.streams))
    rows = math.ceil(len(study.streams) / columns)
    height = HEIGHT if columns == COLUMNS else 2 * HEIGHT
    drawn = _style.figure(height * rows + 0.5, caption(study), study.budget())
    panels = drawn.subplots(rows, columns, squeeze=False).ravel()
    for panel, stream in zip(panels, study.streams, strict=False):
        _draw(panel, study, stream, shown)
    for panel in panels[len(study.streams) :]:
        panel.set_axis_off()
    _style.legend_above(drawn, panels[0])
    return drawn


def caption(study: StudyResults) -> str:
    """What is drawn, on how many runs, and what is cut."""
    return (
        "Grey lines: changes that people marked or that are known, darker where more agree. Ticks"
        " at the top: changepoints of the most probable segmentation, read backwards from the end."
        f" First realisation, first seed. {study.budget()}"
    )


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
    times, value = _series.of_tasks(store), store["value"].values[0]
    for number in range(value.shape[1]):
        panel.plot(_series.axis(store), value[:, number], color="black", lw=0.7, alpha=0.8)
    for marks in _known(store):
        for task in np.flatnonzero(marks):
            panel.axvline(times[task], color=_style.MUTED, lw=1.6, alpha=FAINT, zorder=0)
    span = np.ptp(value) or 1.0
    room = MARKS * (len(shown) + 1)
    panel.set_ylim(value.min() - 0.05 * span, value.max() + span * room / (1 - room))
    for place, name in enumerate(shown):
        _draw_found(panel, study, stream, name, 1 - MARKS * (place + 0.7))
    panel.set_title(_series.name(study, stream), size=9, pad=2)
    panel.set_yticks([])
    panel.tick_params(labelsize=7, pad=1, length=2)
    _few_ticks(panel, times)


def _draw_found(panel: Axes, study: StudyResults, stream: str, name: str, height: float) -> None:
    found = segmentation.changepoints(study.run(stream, name))
    assert found is not None
    times = _series.of_tasks(study.streams[stream])[found[0]]
    panel.plot(
        times, np.full(len(times), height), "|", ms=5, mew=1.4, label=study.label(name),
        color=_style.look(study, name)["color"], transform=panel.get_xaxis_transform(),
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

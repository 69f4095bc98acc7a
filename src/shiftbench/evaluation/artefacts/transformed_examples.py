"""Test images under the maps of the first segments of a stream.

The data of Fig. 3 of li2021vbs: one map acts on all images of a segment, and the next segment has
a new random map.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure, SubFigure

from shiftbench.config import provenance
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _pictures
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(requires=("maps",))

IMAGES, SEGMENTS = 4, 8
"""Largest number of rows, each of another class, and of columns."""
ROW_INCHES = 1.15


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw a block per stream, with a row per image and a column per segment."""
    height = 0.75 + IMAGES * ROW_INCHES
    figure = figure_style.figure(height * len(study.streams), caption(study))
    # The same number for all streams, so that all images have the same size.
    columns = min(SEGMENTS, max(_segments(store) for store in study.streams.values()))
    for name, block in figure_style.divide(figure, study.streams):
        store = study.streams[name]
        block.suptitle(figure_style.stream_title(name, store), x=0.01, ha="left", size=10)
        _draw_stream(block, store, columns)
    return figure


def caption(study: StudyResults) -> str:
    """Describe the figure and the reductions; no run enters."""
    cuts = f" {study.cuts.strip().rstrip('.')}." if study.cuts else ""
    return (
        "The same test images, each of another class, under the maps of the first segments of "
        "the first realisation; one map acts on all images of a segment, training and test. "
        "Rotation: counter-clockwise; shift: right and down alike, as a share of the image's "
        f"size.{cuts}"
    )


def _draw_stream(block: SubFigure, store: xr.Dataset, columns: int) -> None:
    rows, segments = _examples(store), range(min(columns, _segments(store)))
    view = provenance.reader(store).view
    panels = block.subplots(len(rows), columns, squeeze=False)
    for axes in panels.ravel():
        axes.set_axis_off()
    for segment in segments:
        tasks = np.flatnonzero(store["segment_of_task"].values[0] == segment)
        # The last task: a drift to the map of the segment is over by then.
        for axes, image in zip(panels[:, segment], view(store, 0, tasks[-1], rows), strict=True):
            _pictures.show(axes, image)
        panels[0, segment].set_title(_label(store, segment, tasks), size=8, loc="center")


def _segments(store: xr.Dataset) -> int:
    """Return the number of segments of the first realisation."""
    return int(store["segment_of_task"].values[0, -1]) + 1


def _examples(store: xr.Dataset) -> np.ndarray:
    """Return the positions of the first test image of each of the first classes."""
    tests = np.flatnonzero(store["split"].values == store["split"].values.max())
    _, first = np.unique(store["label"].values[tests], return_index=True)
    return tests[first[:IMAGES]]


def _label(store: xr.Dataset, segment: int, tasks: np.ndarray) -> str:
    """Return the title of a column: the tasks of the segment, and its map."""
    scale, rotation, shift = (
        float(store[name].values[0, segment]) for name in ("scale", "rotation", "translation")
    )
    first, last = tasks[[0, -1]]
    heading = f"task {first}" if first == last else f"tasks {first} to {last}"
    if (scale, rotation, shift) == (1.0, 0.0, 0.0):
        return f"{heading}\nas it is\n\n"
    lines = heading, f"scale {scale:.2f}", f"rotation {rotation:+z.0f}°", f"shift {shift:+z.2f}"
    return "\n".join(lines).replace("-", "\N{MINUS SIGN}")

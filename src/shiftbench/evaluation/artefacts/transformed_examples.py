"""The same test images under the maps of the first segments of a stream.

What the learners of Fig. 3 of li2021vbs see: one map acts on all images of a segment, and the
next one is drawn anew.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure, SubFigure

from shiftbench.config import provenance
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _pictures
from shiftbench.evaluation.scoring.results import StudyResults

KIND = "figure"
REQUIRES = ("maps",)

IMAGES, SEGMENTS = 4, 8
"""At most so many rows, each of another class, and columns."""
ROW_INCHES = 1.15


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """The figure, one block a stream, one row an image, one column a segment."""
    height = 0.75 + IMAGES * ROW_INCHES
    drawn = figure_style.figure(height * len(study.streams), caption(study))
    blocks = drawn.subfigures(len(study.streams), 1, squeeze=False)[:, 0]
    # Of streams with fewer segments the images have the same size.
    columns = min(SEGMENTS, max(store.sizes["segment"] for store in study.streams.values()))
    for block, (name, store) in zip(blocks, study.streams.items(), strict=True):
        block.suptitle(figure_style.named(name, store), x=0.01, ha="left", size=10)
        _draw_stream(block, store, columns)
    return drawn


def caption(study: StudyResults) -> str:
    """What the figure shows, and what is cut; no run counts here."""
    cuts = f" {study.cuts.strip().rstrip('.')}." if study.cuts else ""
    return (
        "The same test images, each of another class, under the maps of the first segments of "
        "the first realisation; one map acts on all images of a segment, training and test. "
        "Rotation: counter-clockwise; shift: right and down alike, as a share of the image's "
        f"size.{cuts}"
    )


def _draw_stream(block: SubFigure, store: xr.Dataset, columns: int) -> None:
    rows, segments = _examples(store), range(min(columns, store.sizes["segment"]))
    view = provenance.reader(store).view
    panels = block.subplots(len(rows), columns, squeeze=False)
    for axes in panels.ravel():
        axes.set_axis_off()
    for segment in segments:
        tasks = np.flatnonzero(store["segment_of_task"].values == segment)
        for axes, image in zip(panels[:, segment], view(store, 0, tasks[0], rows), strict=True):
            _pictures.show(axes, image)
        panels[0, segment].set_title(_label(store, segment, tasks), size=8, loc="center")


def _examples(store: xr.Dataset) -> np.ndarray:
    """Positions of the first test image of each of the first classes that there are."""
    tests = np.flatnonzero(store["split"].values == store["split"].values.max())
    _, first = np.unique(store["label"].values[tests], return_index=True)
    return tests[first[:IMAGES]]


def _label(store: xr.Dataset, segment: int, tasks: np.ndarray) -> str:
    """Of a column: the tasks of the segment, and its map."""
    scale, rotation, shift = (
        float(store[name].values[0, segment]) for name in ("scale", "rotation", "translation")
    )
    first, last = tasks[[0, -1]]
    heading = f"task {first}" if first == last else f"tasks {first} to {last}"
    if (scale, rotation, shift) == (1.0, 0.0, 0.0):
        return f"{heading}\nas it is\n\n"
    lines = heading, f"scale {scale:.2f}", f"rotation {rotation:+z.0f}°", f"shift {shift:+z.2f}"
    return "\n".join(lines).replace("-", "\N{MINUS SIGN}")

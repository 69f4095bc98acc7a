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
from shiftbench.evaluation.scoring import caption_notes
from shiftbench.evaluation.scoring.caption_notes import Basis
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(requires=("maps",))

IMAGES, SEGMENTS = 4, 8
"""Largest number of rows, each of another class, and of columns."""
ROW_INCHES = 1.15


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw a block per stream, with a row per image and a column per segment."""
    height = 0.75 + IMAGES * ROW_INCHES
    figure = figure_style.figure(height * len(study.streams), _foot(study), _cuts(study))
    # The same number for all streams, so that all images have the same size.
    columns = min(SEGMENTS, max(_segments(store) for store in study.streams.values()))
    for name, block in figure_style.divide(figure, study.streams):
        figure_style.set_message(block, _message(name, study.streams[name]))
        _draw_stream(block, study.streams[name], columns)
    return figure


def caption(study: StudyResults) -> str:
    """Say how strong the maps are, describe the figure and the reductions; no run enters."""
    messages = "".join(f"{_message(*each)}. " for each in study.streams.items())
    return f"{messages}{_foot(study)}"


def _message(name: str, store: xr.Dataset) -> str:
    """Say how strong the maps of the segments that are drawn are."""
    shown = min(SEGMENTS, _segments(store))
    scale, rotation, shift = (
        store[each].values[0, :shown] for each in ("scale", "rotation", "translation")
    )
    said = (
        f"{name}: the maps of the first {shown} segments scale by {scale.min():.2f} to "
        f"{scale.max():.2f}, rotate by up to {np.abs(rotation).max():.0f}° and shift by up to "
        f"{100 * np.abs(shift).max():.0f} %"
    )
    return said if shown > 1 else f"{name}: one map acts on all images"


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    sources = "; ".join(
        figure_style.stream_title(name, store) for name, store in study.streams.items()
    )
    return (
        f"{sources}. "
        "Test images of different classes under the maps of the first segments of the first "
        "realisation; one map acts on all images of a segment, training and test. "
        "Rotation: counter-clockwise; shift: right and down alike, as a share of the image's "
        f"size. {_cuts(study)}"
    ).strip()


def _cuts(study: StudyResults) -> Basis:
    cuts = study.cuts.strip().rstrip(".")
    return Basis([cuts], [cuts and caption_notes.ELSEWHERE])


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
    moved = f"shift {100 * shift:+z.0f} %"
    lines = heading, f"scale {scale:.2f}", f"rotation {rotation:+z.0f}°", moved
    return "\n".join(lines).replace("-", "\N{MINUS SIGN}")
